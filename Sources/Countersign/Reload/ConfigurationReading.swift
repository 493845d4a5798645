import Configuration
import Crypto

/// What a role takes out of the files of its configuration.
struct ConfigurationContents: Sendable {
  var configuration: LoadedConfiguration
  let held: HeldFiles.Contents
  /// The keys of the secrets in the ledger; `nil` for a role that never sees a secret, and may lack the file.
  let keys: SealingKeys?

  /// Reads the files beside the configuration. It blocks.
  init(_ configuration: LoadedConfiguration, for user: SettingsUser) throws {
    self.configuration = configuration
    held = try HeldFiles.Contents(of: configuration.settings, for: user)
    keys = user.needsKeys ? try configuration.settings.ledger.readKeys() : nil
  }
}

/// One reading of all files of a running role.
struct ConfigurationReading: Sendable {
  let result: Result<ConfigurationContents, any Error>
  /// Whether a file has changed while others were read.
  let isTorn: Bool

  /// - Parameter present: the configuration in use.
  init(
    _ read: (LoadedConfiguration) throws -> LoadedConfiguration, after present: LoadedConfiguration,
    for user: SettingsUser
  ) {
    var files: ConfigurationFiles?
    result = Result {
      do {
        let configuration = try read(present)
        files = configuration.files
        return try ConfigurationContents(configuration, for: user)
      } catch let error as LoadedConfiguration.Refused {
        files = error.files
        throw error
      }
    }
    isTorn = files?.haveChanged ?? false
  }
}
