import Crypto

extension TLSClientFiles {
  /// Reads the three files of a server's section; `nil` when the URL asks for no TLS.
  ///
  /// - Parameters:
  ///   - server: the server's name, for people.
  ///   - scheme: the scheme of a URL that asks for TLS.
  ///   - isWanted: whether the URL has this scheme.
  init?(_ reader: SettingsReader, _ section: String, of server: String, scheme: String, isWanted: Bool) {
    let ca = "\(section).caFile"
    let certificate = "\(section).certificateFile"
    let key = "\(section).privateKeyFile"
    self.init(
      caFile: reader.optionalPath(
        ca, "PEM file of certificate authorities for `\(scheme)://`, instead of the system's."),
      certificateFile: reader.optionalPath(
        certificate, "PEM file with this process's own certificate, if \(server) asks for one."),
      privateKeyFile: reader.optionalPath(key, "PEM file with the key of that certificate, without a password."))
    if !isWanted {
      for (key, file) in [(ca, caFile), (certificate, certificateFile), (key, privateKeyFile)] where file != nil {
        reader.note(key, "has no effect without TLS, expected \(scheme):// in \(section).url")
      }
      return nil
    }
    if certificateFile != nil, privateKeyFile == nil { reader.note(certificate, "needs \(key) beside it") }
    if certificateFile == nil, privateKeyFile != nil { reader.note(key, "needs \(certificate) beside it") }
  }
}

extension SettingsReader {
  /// Notes files that would make each connection fail.
  func noteUnusableFiles(_ section: String, _ tls: TLSClientFiles?) {
    guard let tls else { return }
    if let file = tls.caFile { noteAuthorities("\(section).caFile", file) }
    guard let certificate = tls.certificateFile, let key = tls.privateKeyFile else { return }
    // OpenSSL reads them itself.
    for file in [certificate, key] { _ = files.read(file) }
    var own = tls
    own.caFile = nil
    do { _ = try own.context() } catch { note("\(section).certificateFile", "\(error)") }
  }
}
