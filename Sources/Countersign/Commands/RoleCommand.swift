import Configuration
import Crypto
import Domain
import Doors
import EventLoop
import FoundationEssentials
import Glibc
import Observability
import Service

extension Command {
  /// A role: reads the configuration, starts, waits for SIGTERM or SIGINT, stops within the grace period.
  static func role(
    _ name: String, _ summary: String, _ make: @escaping @LoopActor @Sendable (RoleContext) throws -> any Role
  ) -> Command {
    Command(name: name, summary: summary) { arguments in
      let configuration: LoadedConfiguration
      do {
        configuration = try LoadedConfiguration(arguments, command: name)
      } catch {
        complain("\(error)")
        return 2
      }
      return await run(name, arguments, configuration, make)
    }
  }

  @LoopActor
  private static func run(
    _ name: String, _ arguments: [String], _ loaded: LoadedConfiguration,
    _ make: @LoopActor (RoleContext) throws -> any Role
  ) async -> Int32 {
    guard let user = SettingsUser(rawValue: name) else { preconditionFailure("\(name) is no role") }
    let held = HeldFiles()
    var configuration = loaded
    let keys: SealingKeys?
    do {
      let contents = try ConfigurationContents(loaded, for: user)
      try held.take(contents.held, &configuration.settings)
      keys = contents.keys
    } catch {
      complain("countersign \(name): \(error)")
      return 2
    }
    let context = RoleContext(
      role: name, version: BuildVersion.short, settings: configuration.settings, publishers: configuration.publishers,
      doors: DoorRegistry.catalog)
    let log = context.log
    configuration.warn(log)
    configuration.tellBroken(log)
    useAllDescriptors()
    context.loopWatch.start()
    do {
      if let keys { context.secretKeys = keys }
      let role = try make(context)
      let signals = StopSignals()
      let systemd = SystemdNotifier(ProcessInfo.processInfo.environment)
      defer { systemd?.close() }
      let watch = ConfigurationWatch(context, user, configuration, held) {
        try LoadedConfiguration(arguments, command: name, after: $0)
      }
      let reload = SignalWatcher(SIGHUP) {
        watch.lookAgain()
        role.refresh()
      }
      context.starting.begin { refusal in
        log.error("could not start", ["cause": .failure(refusal)])
        exit(1)
      }
      let services = ServiceGroup([
        // It stops last: without it, the signal would end the process.
        ServiceAdapter(stop: { _ in reload.close() }),
        ServiceAdapter(
          start: {
            try await role.start()
            await context.starting.end(within: .seconds(3))
          }, stop: { await role.stop(grace: $0) }), watch,
      ])
      try await services.start()
      log.info("started")
      systemd?.started()
      await signals.first()
      let grace = configuration.settings.shutdownGrace
      log.info("stopping", ["graceSeconds": .double(grace.inSeconds)])
      systemd?.stopping()
      await services.stop(within: grace)
      log.info("stopped")
      return 0
    } catch {
      log.error("could not start", ["cause": .failure(configuration.cause(of: error, role: name))])
      return 1
    }
  }

  /// Each connection needs a descriptor, and the usual limit of 1024 is less than a gateway's own limit of connections.
  private static func useAllDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
