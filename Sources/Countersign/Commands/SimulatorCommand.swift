import Configuration
import Domain
import EventLoop
import Formats
import Glibc
import Observability
import Simulator

/// `countersign simulator`: the stand-in for Apple as a process of its own.
enum SimulatorCommand {
  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let loader: ConfigurationLoader
    let settings: Settings
    do {
      // The command does not read the publishers' files: they need keys that the simulator is about to make.
      loader = try ConfigurationLoader(arguments, command: "simulator")
      settings = try loader.settings()
    } catch {
      complain("\(error)")
      return 2
    }
    let log = Log(level: .init(rawValue: settings.logLevel.rawValue) ?? .info, ["role": "simulator"])
    do {
      let simulator = try Simulator(Simulator.Configuration(settings.simulator))
      simulator.watchLoop(log)
      let signals = StopSignals()
      try await simulator.start()
      log.info("listening", ["address": .string("\(settings.simulator.listen.host):\(simulator.port)")])
      await signals.first()
      await simulator.close()
      log.info("stopped")
      return 0
    } catch let error as ListenError {
      log.error("could not start", ["cause": .failure(loader.mistake("simulator.listen", "\(error)"))])
      return 1
    } catch let error as SimulatorError {
      log.error("could not start", ["cause": .failure(loader.mistake("simulator.folder", "\(error)"))])
      return 1
    } catch {
      log.error("could not start", ["cause": .failure(error)])
      return 1
    }
  }
}

extension Simulator.Configuration {
  fileprivate init(_ settings: SimulatorSettings) {
    self.init(
      host: settings.listen.host, port: settings.listen.port, folder: settings.folder, tlsNames: settings.tlsNames,
      apps: settings.apps.map {
        Simulator.App(
          bundleId: ExactText($0.bundleId.text), appAppleId: $0.appAppleId, issuerId: $0.issuerId, keyId: $0.keyId)
      },
      latency: settings.latency)
    lifeMonth = settings.lifeMonth
    notifications.urls = settings.notificationURLs
    notifications.version = settings.notificationVersion
    notifications.password = settings.notificationPassword
    notifications.caFile = settings.notificationCAFile
  }
}
