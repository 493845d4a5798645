import Configuration
import Domain
import Doors
import EventLoop
import JSON

/// `countersign check-config`: reports every mistake of the configuration without connecting to any server.
///
/// With `--describe` it tells every key instead.
enum CheckConfigCommand {
  static let command = Command(
    name: "check-config", summary: "checks the configuration, and lists every mistake",
    synopsis: "--config FILE [--json] | --describe [--json]",
    options: [
      .configuration,
      CommandOption(
        "--json", "the mistakes and warnings as one JSON object; with --describe, one object for each key"),
      CommandOption("--describe", "prints the tables of docs/reference/configuration.md"),
    ], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let isJSON = arguments.contains("--json")
    if arguments.contains("--describe"), Set(arguments).isSubset(of: ["--describe", "--json"]) {
      let doors = DoorRegistry.all
      print(
        isJSON
          ? ConfigurationReference.lines(doors).joined(separator: "\n") : ConfigurationReference.markdown(doors))
      return 0
    }
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
