import Configuration
import Domain
import Doors
import EventLoop
import JSON

/// `countersign check-config`: reports every mistake of the configuration without connecting to any server.
enum CheckConfigCommand {
  static let command = Command(
    name: "check-config", summary: "checks the configuration, and lists every mistake",
    synopsis: "--config FILE [--json] | --describe",
    options: [
      .configuration, CommandOption("--json", "the mistakes and warnings as one JSON object"),
      CommandOption("--describe", "prints the tables of docs/reference/configuration.md"),
    ], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    if arguments == ["--describe"] {
      print(ConfigurationReference.markdown(DoorRegistry.all))
      return 0
    }
    let isJSON = arguments.contains("--json")
    do {
      let rest = arguments.filter { $0 != "--json" }
      let configuration = try LoadedConfiguration(rest, command: "check-config").withoutMistakes()
      if isJSON {
        say(line(publishers: configuration.publishers.all.count, [], warnings: configuration.warnings))
        return 0
      }
      for warning in configuration.warnings { complain("warning: \(warning)") }
      print("ok: \(configuration.publishers.all.count) publisher(s)")
      return 0
    } catch {
      if isJSON, let mistakes = ((error as? LoadedConfiguration.Refused)?.cause as? ConfigurationError)?.mistakes {
        say(line(publishers: nil, mistakes, warnings: []))
      } else {
        complain("\(error)")
      }
      return 2
    }
  }

  private static func line(publishers: Int?, _ mistakes: [Mistake], warnings: [String]) -> String {
    jsonLine { json in
      json.member("ok", mistakes.isEmpty)
      json.member("publishers", publishers.map(Int64.init))
      json.member("mistakes", mistakes) { mistake, json in
        json.member("source", mistake.source)
        json.member("key", mistake.key)
        json.member("problem", mistake.problem)
      }
      json.member("warnings", array: warnings.map(JSONWriter.text))
    }
  }
}
