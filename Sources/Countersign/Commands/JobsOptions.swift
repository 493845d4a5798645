import Coordination
import Domain

/// The arguments of `countersign jobs`, by value.
struct JobsOptions: Equatable {
  enum Action: String {
    /// Shows the jobs.
    case list
    /// Runs them at once.
    case retry
  }

  var action = Action.list
  var filter = JobFilter()
  /// The most jobs that are shown.
  var limit = 100
  var isDryRun = false

  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: JobsOptions, rest: [String]) {
    var (options, rest) = (JobsOptions(), [String]())
    var words = arguments[...]
    guard let action = words.popFirst().flatMap(Action.init) else {
      throw Refused(description: "jobs needs an action: list or retry")
    }
    options.action = action
    while let word = words.popFirst() {
      func value<Value>(_ expected: String, _ read: (String) -> Value?) throws -> Value {
        if let value = words.popFirst().flatMap(read) { return value }
        throw Refused(description: "\(word) needs \(expected)")
      }
      switch word {
      case "--cause":
        let causes = RetryCause.allCases.map(\.rawValue).joined(separator: ", ")
        options.filter.cause = try value("one of: \(causes)", RetryCause.init)
      case "--publisher": options.filter.publisher = try value("a publisher's id", Int64.init)
      case "--app": options.filter.app = try value("the bundle id of an app") { $0.isEmpty ? nil : BundleId($0) }
      case "--older-than": options.filter.olderThan = try value("a time such as 90s, 15m or 2h", time)
      case "--limit":
        options.limit = try value("a number from 1 to 100000") { text in
          Int(text).flatMap { (1...100_000).contains($0) ? $0 : nil }
        }
      case "--dry-run": options.isDryRun = true
      default: rest.append(word)
      }
    }
    return (options, rest)
  }

  /// Reads a time: a whole number and `s`, `m` or `h`.
  private static func time(_ text: String) -> Duration? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()),
      (0...100_000_000).contains(number)
    else { return nil }
    return .seconds(number * unit)
  }
}
