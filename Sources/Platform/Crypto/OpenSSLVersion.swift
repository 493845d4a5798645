import COpenSSL

/// The version of OpenSSL that the process has loaded, for example `OpenSSL 3.0.17 1 Jul 2025`.
public var openSSLVersion: String { String(cString: OpenSSL_version(OPENSSL_VERSION)) }
