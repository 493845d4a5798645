import Configuration
import Crypto
import Domain
import EventLoop
import Ledger
import Observability
import Service

/// Looks whether files of the configuration have changed, and lets the role use the new ones.
///
/// A mounted ConfigMap or Secret swaps a link and sends no signal, so the watch compares contents (decision 0032). It
/// reads everything anew and checks it as at a start. With a mistake the old configuration stays. A mistake in a
/// publisher's file only keeps that publisher as it was.
@LoopActor
final class ConfigurationWatch: RoleService {
  private let context: RoleContext
  private let user: SettingsUser
  private let read: @Sendable (LoadedConfiguration) throws -> LoadedConfiguration
  private let readKeysInUse: @LoopActor (LedgerSettings) async throws -> SecretKeysInUse
  private let held: HeldFiles
  private var present: LoadedConfiguration
  /// Whether the role uses what the files say.
  private var isCurrent = true { didSet { context.configurationCurrent.set(isCurrent ? 1 : 0) } }
  /// The configuration that was refused last: its mistakes are told once.
  private var refused: ConfigurationFiles?
  /// A cause that may pass by itself, and was told.
  private var told: String?
  private let interval: Duration
  private lazy var looks = Chore(every: interval, after: interval, .dropped) { [weak self] in await self?.look() }

  /// - Parameters:
  ///   - present: the configuration of the running role.
  ///   - held: the files of its connections.
  ///   - readKeysInUse: asks the ledger of new settings which keys its secrets need.
  ///   - read: reads everything anew, on another thread; it takes the configuration in use.
  init(
    _ context: RoleContext, _ user: SettingsUser, _ present: LoadedConfiguration, _ held: HeldFiles,
    readKeysInUse: @escaping @LoopActor (LedgerSettings) async throws -> SecretKeysInUse = {
      try await KeysInUse.read($0)
    },
    read: @escaping @Sendable (LoadedConfiguration) throws -> LoadedConfiguration
  ) {
    self.context = context
    self.user = user
    self.present = present
    self.held = held
    self.readKeysInUse = readKeysInUse
    self.read = read
    interval = context.settings.reloadInterval
  }

  /// Begins to look. A file may have changed, or a signal may have come, while the role started.
  func start() {
    looks.start()
    looks.lookNow()
  }

  func close() { looks.close() }

  func stop(within grace: Duration) async { await looks.stop(within: grace) }

  /// Looks now, also at files that were refused and have not changed since. While a look runs, another one follows it.
  func lookAgain() {
    (refused, told) = (nil, nil)
    looks.lookNow()
  }

  /// What the files are now.
  private enum Found { case present, refused, new }

  /// How often a set of files is read that changes meanwhile.
  private static let tries = 3

  /// Looks once at the files.
  func look() async {
    let (files, seen) = (present.files, refused)
    let found = try? await EventLoop.offload {
      !files.haveChanged ? Found.present : seen.map { !$0.haveChanged } ?? false ? .refused : .new
    }
    if found == .present, !isCurrent {
      // Somebody has put the old files back.
      (refused, told, isCurrent) = (nil, nil, true)
    }
    guard found == .new else { return }
    for _ in 0..<Self.tries {
      let reading = try? await EventLoop.offload { [read, user, present] in
        ConfigurationReading(read, after: present, for: user)
      }
      guard let reading else { return }
      if reading.isTorn { continue }
      return await use(reading)
    }
    context.log.info("the configuration keeps changing; reading it again later")
  }

  private func use(_ reading: ConfigurationReading) async {
    do {
      let new = try reading.result.get()
      if let keys = new.keys {
        try await KeysInUse.check(keys, after: context.secretKeys) {
          try await readKeysInUse(new.configuration.settings.ledger)
        }
      }
      // The role may have stopped meanwhile.
      guard !Task.isCancelled else { return }
      var configuration = new.configuration
      try held.take(new.held, &configuration.settings)
      context.use(configuration.settings, configuration.publishers)
      if let keys = new.keys { context.secretKeys = keys }
      if configuration.files.differ(from: present.files, at: configuration.file) {
        context.log.warning("the configuration file has changed; most of its settings take effect at the next start")
      }
      configuration.warn(context.log)
      configuration.tellBroken(context.log, after: present.publishers)
      present = configuration
      (refused, told, isCurrent) = (nil, nil, true)
      context.configurationReloads.count("used")
      context.log.info(
        "configuration reloaded", ["publishers": .int(Int64(configuration.publishers.all.count))])
    } catch {
      if !Task.isCancelled { refuse(error) }
    }
  }

  /// Keeps the old configuration. A mistake stays until somebody changes a file. Anything else may pass by itself: the
  /// next look tries again, and does not log the same cause again.
  private func refuse(_ error: any Error) {
    isCurrent = false
    refused = (error as? LoadedConfiguration.Refused)?.files
    let cause = refused == nil ? "\(error)" : nil
    guard cause == nil || cause != told else { return }
    told = cause
    context.configurationReloads.count("refused")
    context.log.error("configuration not reloaded; still using the old one", ["cause": .failure(error)])
  }
}
