import Configuration
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
  func look() {
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
      guard let reading = try? await EventLoop.offload({ [read] in ConfigurationReading(read) }) else { return }
      if reading.isTorn { continue }
      return use(reading)
    }
    context.log.info("the configuration changes all the time; looking again later")
  }

  private func use(_ reading: ConfigurationReading) {
    do {
      var configuration = try reading.result.get()
      // The others never see a secret, and may lack the file.
      let keys = user.needsKeys ? try configuration.settings.ledger.readKeys() : nil
      try held.take(&configuration.settings, for: user)
      context.use(configuration.settings, configuration.publishers)
      if let keys { context.secretKeys = keys }
      present = configuration
      refused = nil
      context.configurationCurrent.set(1)
      context.configurationReloads.count("used")
      context.log.info(
        "configuration reloaded", ["publishers": .int(Int64(configuration.publishers.all.count))])
    } catch {
      refused = reading.files
      context.configurationCurrent.set(0)
      context.configurationReloads.count("refused")
      context.log.error("configuration not reloaded; the old one stays", ["cause": .failure(error)])
    }
  }
}

/// One reading of all files.
private struct ConfigurationReading: Sendable {
  let result: Result<LoadedConfiguration, any Error>
  /// The files that were read; `nil` if nothing tells them.
  let files: ConfigurationFiles?
  /// Whether a file has changed while others were read.
  let isTorn: Bool

  init(_ read: () throws -> LoadedConfiguration) {
    do {
      let configuration = try read()
      (result, files) = (.success(configuration), configuration.files)
    } catch let error as LoadedConfiguration.Refused {
      (result, files) = (.failure(error.cause), error.files)
    } catch {
      (result, files) = (.failure(error), nil)
    }
    isTorn = files?.haveChanged ?? false
  }
}
