import Coordination
import Domain

/// The arguments of `countersign jobs`, by value.
struct JobsOptions: Equatable {
  enum Action: String {
    /// Lists the jobs.
    case list
    /// Prints jobs with all that they have.
    case show
    /// Runs them at once.
    case retry
  }

  var action = Action.list
  var filter = JobFilter()
  /// The most jobs that are listed or retried; `nil` is what is usual for the action.
  var limit: Int?
  var isDryRun = false
  var isPlain = false
  /// Who runs the command, if not the user of the system.
  var operatorName: String?

  /// Reads the arguments; returns the others, too.
  static func read(_ arguments: [String]) throws -> (options: JobsOptions, rest: [String]) {
    var (options, rest) = (JobsOptions(), [String]())
    var words = CommandWords(arguments)
    guard let action = words.next().flatMap(Action.init) else {
      throw CommandWords.Refused(description: "jobs needs an action: list, show or retry")
    }
    options.action = action
    while let word = words.next() {
      switch word {
      case "--cause":
        let causes = RetryCause.allCases.map(\.rawValue).joined(separator: ", ")
        options.filter.cause = try words.value(of: word, "one of: \(causes)", RetryCause.init)
      case "--publisher": options.filter.publisher = try words.value(of: word, "a publisher's id", Int64.init)
      case "--app": options.filter.app = BundleId(try words.text(of: word, "the bundle id of an app"))
      case "--id":
        options.filter.synchronization = SynchronizationId(try words.text(of: word, "the id of a synchronization"))
      case "--older-than": options.filter.olderThan = try words.time(of: word)
      case "--limit": options.limit = try words.limit(of: word)
      case "--as": options.operatorName = try words.operatorName(of: word)
      case "--plain": options.isPlain = true
      case "--dry-run": options.isDryRun = true
      case "--json": break
      default: rest.append(word)
      }
    }
    return (options, rest)
  }
}
