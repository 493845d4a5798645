import COpenSSL

/// Keeps OpenSSL whole until the process has gone.
///
/// Otherwise `exit` frees OpenSSL's locks while another thread still uses TLS, and the process ends by a signal instead
/// of with its status. It must come before anything else uses OpenSSL (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT).
public func keepOpenSSLUntilExit() { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
