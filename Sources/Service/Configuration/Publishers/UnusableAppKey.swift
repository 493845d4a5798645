import Crypto

/// Says why a file is not the key of an app, without a word of its content.
struct UnusableAppKey: CustomStringConvertible {
  private let pem: String

  init(pem: String) { self.pem = pem }

  var description: String {
    "the file \(problem); expected the .p8 file of an In-App Purchase key, which App Store Connect offers for "
      + "download only once: a PKCS#8 P-256 private key in PEM, which begins with -----BEGIN PRIVATE KEY-----"
  }

  private var problem: String {
    if pem.allSatisfy(\.isWhitespace) { return "is empty" }
    if let kind = PrivateKeyKind(pem: pem) { return "holds \(kind)" }
    if pem.contains("-----BEGIN CERTIFICATE") { return "holds a certificate" }
    if pem.contains("-----BEGIN PUBLIC KEY") { return "holds a public key" }
    if pem.contains("-----BEGIN EC PRIVATE KEY") || pem.contains("-----BEGIN RSA PRIVATE KEY") {
      return "holds a key in another form"
    }
    if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY") { return "holds a key with a passphrase" }
    if !pem.contains("-----BEGIN PRIVATE KEY-----") { return "holds no key in PEM" }
    return pem.contains("-----END PRIVATE KEY-----") ? "is damaged" : "ends too early"
  }
}
