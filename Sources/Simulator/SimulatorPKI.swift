import Crypto
import Formats

/// The simulator's certificates and keys, shaped like Apple's: P-384 root and intermediate, P-256 leaf, marker OIDs.
///
/// Its folder holds `root.der` and `tls-ca.pem` for the workers to trust, `AuthKey_<keyId>.p8` for them to sign with,
/// and `private/` with the keys that the simulator needs to start again with the same PKI.
///
/// Two simulators must not make the first start in one folder at the same time.
struct SimulatorPKI {
  /// Signs payloads and receipts as Apple does.
  let genuine: StoreSigner
  /// Signs under another root with the same names.
  let foreign: StoreSigner
  /// Signs under the right root, without the marker extensions.
  let unmarked: StoreSigner
  /// For the server: a certificate for the configured names. The same authority issues it anew at every start.
  let tls: TLSServerContext
  /// The public halves of the keys that sign bearer tokens, by key id.
  let tokenKeys: [String: P256PublicKey]

  /// Reads the folder, or fills it at the first start.
  init(_ configuration: Simulator.Configuration) throws {
    let folder = try Folder(configuration.folder)
    let secrets = try Folder("\(configuration.folder)/private", mode: 0o700)

    let root = try Self.authority("root", in: secrets) { try Self.makeRoot() }
    let intermediate = try Self.authority("intermediate", in: secrets) { try Self.makeIntermediate(root) }
    let leaf = try Self.authority("leaf", in: secrets) { try Self.makeLeaf(intermediate) }
    genuine = try StoreSigner(leaf: leaf, intermediate: intermediate, root: root)

    let plainIntermediate = try Self.makeIntermediate(root, markers: [])
    unmarked = try StoreSigner(
      leaf: Self.makeLeaf(plainIntermediate, markers: []), intermediate: plainIntermediate, root: root)
    let foreignRoot = try Self.makeRoot()
    let foreignIntermediate = try Self.makeIntermediate(foreignRoot)
    foreign = try StoreSigner(
      leaf: Self.makeLeaf(foreignIntermediate), intermediate: foreignIntermediate, root: foreignRoot)

    let tlsAuthority = try Self.authority("tls-ca", in: secrets) {
      try CertificateAuthority.root(commonName: "Countersign Simulator TLS CA", curve: .p256)
    }
    tls = try Self.makeTLS(tlsAuthority, names: configuration.tlsNames)

    var keys: [String: P256PublicKey] = [:]
    for app in configuration.apps where keys[app.keyId] == nil {
      keys[app.keyId] = try Self.tokenKey(app.keyId, in: folder)
    }
    tokenKeys = keys
    try folder.write(Array(tlsAuthority.certificate.pem.utf8), to: "tls-ca.pem", mode: 0o644)
    // This is the last file: a process that waits for it finds the others.
    try folder.write(root.certificate.der, to: "root.der", mode: 0o644)
  }

  /// Reads a certificate with its key, or makes and stores them. It writes the key last, so a pair is never mixed.
  private static func authority(
    _ name: String, in secrets: Folder, make: () throws -> CertificateAuthority
  ) throws -> CertificateAuthority {
    if let key = try secrets.read("\(name)-key.pem"), let certificate = try secrets.read("\(name).der") {
      return CertificateAuthority(
        certificate: try IssuedCertificate(der: certificate),
        key: try IssuingKey(pem: String(decoding: key, as: UTF8.self)))
    }
    let made = try make()
    try secrets.write(made.certificate.der, to: "\(name).der", mode: 0o600)
    try secrets.write(Array(made.key.pem.utf8), to: "\(name)-key.pem", mode: 0o600)
    return made
  }

  private static func tokenKey(_ keyId: String, in folder: Folder) throws -> P256PublicKey {
    let isName = !keyId.isEmpty && keyId.utf8.allSatisfy(\.isASCIILetterOrDigit)
    guard isName else {
      throw SimulatorError(operation: "use the key id \(keyId)", cause: "only letters and digits may be in it")
    }
    let name = "AuthKey_\(keyId).p8"
    if let pem = try folder.read(name) {
      return try P256PrivateKey(pem: String(decoding: pem, as: UTF8.self)).publicKey
    }
    let key = try P256PrivateKey.generate()
    try folder.write(Array(key.pem.utf8), to: name, mode: 0o600)
    return key.publicKey
  }

  private static func makeRoot() throws -> CertificateAuthority {
    try CertificateAuthority.root(commonName: "Simulated Apple Root CA - G3")
  }

  private static func makeIntermediate(
    _ root: CertificateAuthority, markers: [String] = ["1.2.840.113635.100.6.2.1"]
  ) throws -> CertificateAuthority {
    try root.issueAuthority(
      CertificateProfile(
        commonName: "Simulated Apple Worldwide Developer Relations CA", use: .authority(pathLength: 0),
        markers: markers))
  }

  /// The leaf as a pair of certificate and key; it must not issue certificates.
  private static func makeLeaf(
    _ intermediate: CertificateAuthority, markers: [String] = ["1.2.840.113635.100.6.11.1"]
  ) throws -> CertificateAuthority {
    try intermediate.issueAuthority(
      CertificateProfile(
        commonName: "Simulated Mac App Store and iTunes Store Receipt Signing", use: .signing, markers: markers),
      curve: .p256)
  }

  private static func makeTLS(_ authority: CertificateAuthority, names: [String]) throws -> TLSServerContext {
    let key = try IssuingKey.generate(.p256)
    let all = ["localhost", "127.0.0.1"] + names.filter { $0 != "localhost" && $0 != "127.0.0.1" }
    let profile = CertificateProfile(
      commonName: "Countersign Simulator", use: .tlsServer(names: all), notAfter: .seconds(365 * 86_400))
    return try TLSServerContext(certificateChain: authority.issue(profile, for: key).pem, privateKey: key.pem)
  }
}
