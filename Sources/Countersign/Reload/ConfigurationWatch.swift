import Configuration
import Crypto
import Domain
import EventLoop
import Observability
import Service

/// Looks whether files of the configuration have changed, and lets the role use the new ones.
///
/// A mounted ConfigMap or Secret swaps a link and sends no signal, so the watch compares contents (decision 0032). It
/// reads everything anew and checks it as at a start. With any mistake the old configuration stays.
@LoopActor
final class ConfigurationWatch {
  private let context: RoleContext
  private let user: SettingsUser
  private let read: @Sendable () throws -> LoadedConfiguration
  private let held: HeldFiles
  private var present: LoadedConfiguration
  /// The configuration that was refused last: its mistakes are told once.
  private var refused: ConfigurationFiles?
  private var timer: LoopTimer?
  private var looking: Task<Void, Never>?
  private var mustLook = false

  /// - Parameters:
  ///   - present: the configuration of the running role.
  ///   - held: the files of its connections.
  ///   - read: reads everything anew, on another thread.
  init(
    _ context: RoleContext, _ user: SettingsUser, _ present: LoadedConfiguration, _ held: HeldFiles,
    read: @escaping @Sendable () throws -> LoadedConfiguration
  ) {
    self.context = context
    self.user = user
    self.present = present
    self.held = held
    self.read = read
  }

  /// Starts to look.
  func start(every interval: Duration) {
    let timer = LoopTimer { [weak self] in self?.look() }
    timer.start(after: interval, every: interval)
    self.timer = timer
  }

  /// Looks no more.
  func close() {
    timer?.close()
    timer = nil
    looking?.cancel()
  }

  /// Looks now. While a look runs, another one follows it.
  ///
  /// - Parameter isForced: reads the files again although they were refused, and have not changed since.
  func look(isForced: Bool = false) {
    if isForced { refused = nil }
    mustLook = true
    guard looking == nil else { return }
    looking = Task { @LoopActor in
      while mustLook, !Task.isCancelled {
        mustLook = false
        await lookOnce()
      }
      looking = nil
    }
  }

  /// What the files are now.
  private enum Found { case present, refused, new }

  /// How often a set of files is read that changes meanwhile.
  private static let tries = 3

  private func lookOnce() async {
    let (files, seen) = (present.files, refused)
    let found = try? await EventLoop.offload {
      !files.haveChanged ? Found.present : seen.map { !$0.haveChanged } ?? false ? .refused : .new
    }
    if found == .present, refused != nil {
      // Somebody has put the old files back.
      refused = nil
      context.configurationCurrent.set(1)
    }
    guard found == .new else { return }
    for _ in 0..<Self.tries {
      let reading = try? await EventLoop.offload { [read, user] in ConfigurationReading(read, for: user) }
      guard let reading else { return }
      if reading.isTorn { continue }
      return use(reading)
    }
    context.log.info("the configuration changes all the time; looking again later")
  }

  private func use(_ reading: ConfigurationReading) {
    do {
      let new = try reading.result.get()
      var configuration = new.configuration
      try held.take(new.contents, &configuration.settings)
      context.use(configuration.settings, configuration.publishers)
      if let keys = new.keys { context.secretKeys = keys }
      if configuration.files.differ(from: present.files, at: configuration.file) {
        context.log.warning("the configuration file has changed; most of its settings count from the next start on")
      }
      present = configuration
      refused = nil
      context.configurationCurrent.set(1)
      context.configurationReloads.count("used")
      context.log.info(
        "configuration reloaded", ["publishers": .int(Int64(configuration.publishers.all.count))])
    } catch {
      // A mistake stays until somebody changes a file. Anything else may pass by itself.
      refused = (error as? LoadedConfiguration.Refused)?.files
      context.configurationCurrent.set(0)
      context.configurationReloads.count("refused")
      context.log.error("configuration not reloaded; the old one stays", ["cause": .failure(error)])
    }
  }
}

/// One reading of all files.
private struct ConfigurationReading: Sendable {
  /// What a role takes out of the files.
  struct New: Sendable {
    let configuration: LoadedConfiguration
    let contents: HeldFiles.Contents
    /// The keys of the secrets in the ledger, for a role that needs them.
    let keys: SealingKeys?
  }

  let result: Result<New, any Error>
  /// Whether a file has changed while others were read.
  let isTorn: Bool

  init(_ read: () throws -> LoadedConfiguration, for user: SettingsUser) {
    var files: ConfigurationFiles?
    result = Result {
      do {
        let configuration = try read()
        files = configuration.files
        return New(
          configuration: configuration, contents: try HeldFiles.Contents(of: configuration.settings, for: user),
          keys: user.needsKeys ? try configuration.settings.ledger.readKeys() : nil)
      } catch let error as LoadedConfiguration.Refused {
        files = error.files
        throw error
      }
    }
    isTorn = files?.haveChanged ?? false
  }
}
