import Coordination
import Domain

/// The arguments of `countersign jobs`, by value.
struct JobsOptions: Equatable {
  enum Action: String, CaseIterable {
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

  /// All of them.
  static let all = [
    CommandOption.configuration,
    CommandOption("--cause CAUSE", "jobs that wait for this cause, as in countersign_job_retries_total"),
    CommandOption("--publisher ID", "jobs of one publisher"),
    CommandOption("--app BUNDLE_ID", "jobs of one app; one of an unknown app matches each app of its publisher"),
    CommandOption("--id ID", "the job of one synchronization"),
    CommandOption(CommandOption.olderThan, "jobs that were registered at least this long ago: 90s, 15m or 2h"),
    CommandOption("--limit N", "at most N jobs; without it, list prints 100, show prints 1, and retry takes all"),
    CommandOption("--dry-run", "retry only counts"),
    CommandOption("--plain", "show prints customers' ids, and the data that clients sent about them"),
    CommandOption("--json", "has no effect: lists always have one JSON object per line"), .operatorName,
  ]

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: JobsOptions, rest: [String]) {
    var (options, rest) = (JobsOptions(), [String]())
    var words = CommandWords(arguments)
    options.action = try words.first("an action", for: "jobs")
    while let word = words.next() {
      switch word {
      case "--cause":
        options.filter.cause = try words.choice(of: word, RetryCause.allCases.map(\.rawValue), RetryCause.init)
      case "--publisher": options.filter.publisher = try words.value(of: word, "a publisher's id", PublisherId.init)
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
