import Domain
import Messaging

/// The arguments of `countersign dead`, by value.
struct DeadOptions: Equatable {
  enum Action: String, CaseIterable {
    /// Prints a line for each.
    case list
    /// Prints them with headers and body.
    case show
    /// Lets them run again.
    case retry
    /// Drops them for good.
    case bury
    /// Drops what is about erased customers.
    case erase

    /// Whether it changes something, so that the audit log tells it.
    var changes: Bool { self != .list && self != .show }
    /// How the audit log and the last line of the output call it.
    var done: StaticString {
      switch self {
      case .list, .show: "listed"
      case .retry: "retried"
      case .bury: "buried"
      case .erase: "erased"
      }
    }
  }

  /// What may be dead.
  enum Kind: String, CaseIterable {
    case jobs, deliveries
    /// Those of Apple's that are put aside in the ledger.
    case notifications

    /// The queue of the dead; `nil` for what is in the ledger.
    var queue: DeadMessage.Kind? { DeadMessage.Kind(rawValue: rawValue) }
  }

  var action = Action.list
  /// The kinds that the command works on.
  var kinds: [Kind] = []
  var filter = DeadFilter()
  /// The most that are printed or changed; `nil` is what is usual for the action.
  var limit: Int?
  var isDryRun = false
  var isPlain = false
  /// Who runs the command, if not the user of the system.
  var operatorName: String?

  /// The most that are printed or changed.
  var most: Int {
    switch action {
    case .list: limit ?? 100
    case .show: limit ?? 1
    case .retry, .bury, .erase: limit ?? .max
    }
  }
  /// Whether the command asks the ledger.
  var needsLedger: Bool { action.changes || kinds.contains(.notifications) }

  /// All of them.
  static let all = [
    CommandOption.configuration,
    CommandOption(
      "--kind KIND",
      "jobs, deliveries or notifications; without it, list takes all three, and erase takes jobs and deliveries"),
    CommandOption("--cause CAUSE", DeadCause.allCases.map(\.rawValue).joined(separator: ", ")),
    CommandOption("--publisher ID", "messages of one publisher"),
    CommandOption("--app BUNDLE_ID", "messages of one app; one that names no app matches each app of its publisher"),
    CommandOption("--endpoint ID", "deliveries to one endpoint"),
    CommandOption("--customer ID", "messages that name this customer; needs --publisher"),
    CommandOption("--id ID", "one message; a delivery has its event's id, a notification its UUID"),
    CommandOption(
      CommandOption.olderThan, "messages that were given up at least this long ago: 90s, 15m or 2h"),
    CommandOption("--all", "bury without a filter needs it"),
    CommandOption(
      "--limit N",
      "at most N messages; without it, list prints 100 of each kind, show prints 1, and the others take all"),
    CommandOption("--dry-run", "only counts"),
    CommandOption(
      "--plain", "prints customers' ids, the data that clients sent about them, and bodies that are not JSON"),
    CommandOption("--json", "has no effect: lists always have one JSON object per line"), .operatorName,
  ]

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: DeadOptions, rest: [String]) {
    var (options, rest) = (DeadOptions(), [String]())
    var (kind, takesAll): (Kind?, Bool) = (nil, false)
    var words = CommandWords(arguments)
    options.action = try words.first("an action", for: "dead")
    while let word = words.next() {
      switch word {
      case "--kind": kind = try words.choice(of: word, Kind.allCases.map(\.rawValue), Kind.init)
      case "--cause":
        options.filter.cause = try words.choice(of: word, DeadCause.allCases.map(\.rawValue), DeadCause.init)
      case "--publisher": options.filter.publisher = try words.value(of: word, "a publisher's id", PublisherId.init)
      case "--app": options.filter.app = BundleId(try words.text(of: word, "the bundle id of an app"))
      case "--endpoint": options.filter.endpoint = EndpointId(try words.text(of: word, "the id of an endpoint"))
      case "--customer": options.filter.customer = CustomerId(try words.text(of: word, "the id of a customer"))
      case "--id": options.filter.id = try words.text(of: word, "the id of a message")
      case "--older-than": options.filter.olderThan = try words.time(of: word)
      case "--limit": options.limit = try words.limit(of: word)
      case "--as": options.operatorName = try words.operatorName(of: word)
      case "--all": takesAll = true
      case "--dry-run": options.isDryRun = true
      case "--plain": options.isPlain = true
      case "--json": break
      default: rest.append(word)
      }
    }
    try options.settle(kind, takesAll: takesAll)
    return (options, rest)
  }

  /// Notes the kinds, and refuses what an action cannot do or would do by mistake.
  private mutating func settle(_ kind: Kind?, takesAll: Bool) throws {
    func refuse(_ text: String) -> CommandWords.Refused { CommandWords.Refused(description: text) }
    if filter.customer != nil, filter.publisher == nil { throw refuse("--customer needs --publisher, too") }
    if kind == .notifications, filter.customer != nil || filter.endpoint != nil {
      throw refuse("a notification has no --customer and no --endpoint")
    }
    switch action {
    case .list: kinds = kind.map { [$0] } ?? Kind.allCases
    case .erase:
      var rest = filter
      (rest.publisher, rest.customer) = (nil, nil)
      guard rest.isEmpty else { throw refuse("erase takes no filter but --publisher and --customer") }
      guard kind != .notifications else { throw refuse("a notification names no customer") }
      kinds = kind.map { [$0] } ?? [.jobs, .deliveries]
    case .show, .retry, .bury:
      guard let kind else { throw refuse("\(action.rawValue) needs --kind jobs, deliveries or notifications") }
      if action == .bury, filter.isEmpty, !takesAll { throw refuse("bury needs a filter, or --all") }
      kinds = [kind]
    }
    // These filters name nothing that a notification has.
    if filter.customer != nil || filter.endpoint != nil { kinds.removeAll { $0 == .notifications } }
  }
}
