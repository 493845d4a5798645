import Configuration
import Domain
import Doors
import EventLoop

/// `countersign check-config`: reports every mistake of the configuration without connecting to any server.
enum CheckConfigCommand {
  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    if arguments == ["--describe"] {
      print(ConfigurationReference.markdown(DoorRegistry.all))
      return 0
    }
    do {
      let configuration = try LoadedConfiguration(arguments, command: "check-config").withoutMistakes()
      for warning in configuration.warnings { complain("warning: \(warning)") }
      print("ok: \(configuration.publishers.all.count) publisher(s)")
      return 0
    } catch {
      complain("\(error)")
      return 2
    }
  }
}
