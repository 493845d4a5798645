import Crypto
import Formats

extension SettingsReader {
  /// Notes what commands miss: the ledger's address, and files that would make each of their calls fail.
  func noteUnusableParts(of settings: Settings, for users: Set<SettingsUser>) {
    if !users.isEmpty {
      if settings.ledger.url.isEmpty { note(LedgerSettings.key, "is missing, expected \(DatabaseURL.form)") }
      if let file = settings.ledger.caFile { noteAuthorities("ledger.caFile", file) }
    }
    // Workers and `migrate` never see a secret, so they can do without the file.
    if users.contains(where: { $0.needsKeys || $0 == .rekey }) {
      do throws(UnusableKeysFile) {
        if let file = settings.ledger.keysFile { _ = files.read(file) }
        _ = try settings.ledger.readKeys()
      } catch {
        note(LedgerSettings.keysFileKey, error.description)
      }
      if settings.ledger.refusesPlainSecrets, settings.ledger.keysFile == nil {
        note(LedgerSettings.refusesPlainSecretsKey, "is true, expected a file for \(LedgerSettings.keysFileKey) too")
      }
    }
    if users.contains(where: { ![.migrate, .rekey].contains($0) }) {
      noteUnusableFiles("rabbitmq", settings.rabbitmq.tls)
      noteUnusableFiles("redis", settings.redis.tls)
    }
    if users.contains(.worker) {
      for file in settings.appStore.rootFiles { noteRoots(file) }
      if let file = settings.appStore.caFile { noteAuthorities("appStore.caFile", file) }
    }
    // Pods of other roles do not have these files.
    if users.contains(.console), let openID = settings.console.openID {
      if let file = openID.caFile { noteAuthorities(OpenIDSettings.caFileKey, file) }
      if let file = openID.clientSecretFile {
        if let bytes = files.read(file) {
          if OpenIDSettings.clientSecret(bytes) == nil {
            note(OpenIDSettings.clientSecretKey, "the file that it names is empty, or no text in UTF-8")
          }
        } else {
          note(OpenIDSettings.clientSecretKey, Self.unreadable(file))
        }
      }
    }
    if users.contains(.notifier), let file = settings.notifier.caFile { noteAuthorities("notifier.caFile", file) }
  }

  private func noteRoots(_ file: String) {
    let key = "appStore.rootFiles"
    guard let bytes = files.read(file) else {
      return note(key, "the file \(FileBytes.absolute(file)) cannot be read\(FileBytes.cause(file))")
    }
    if (try? Certificate.all(in: bytes)) == nil {
      note(key, "the file \(file) is neither a DER nor a PEM certificate")
    }
  }

  func noteAuthorities(_ key: String, _ file: String) {
    guard files.read(file) != nil else {
      return note(key, "the file \(FileBytes.absolute(file)) cannot be read\(FileBytes.cause(file))")
    }
    // This is how the role itself will read the file.
    if (try? TLSClientContext(caFile: file, applicationProtocols: ["h2"])) == nil {
      note(key, "the file \(file) holds no certificate in PEM")
    }
  }
}
