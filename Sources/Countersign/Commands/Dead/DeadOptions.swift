import Domain
import Messaging

/// The arguments of `countersign dead`, by value.
struct DeadOptions: Equatable {
  enum Action: String {
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

  /// Reads the arguments; returns the others, too.
  static func read(_ arguments: [String]) throws -> (options: DeadOptions, rest: [String]) {
    var (options, rest) = (DeadOptions(), [String]())
    var (kind, takesAll): (Kind?, Bool) = (nil, false)
    var words = CommandWords(arguments)
    guard let action = words.next().flatMap(Action.init) else {
      throw CommandWords.Refused(description: "dead needs an action: list, show, retry, bury or erase")
    }
    options.action = action
    while let word = words.next() {
      switch word {
      case "--kind": kind = try words.value(of: word, "one of: jobs, deliveries, notifications", Kind.init)
      case "--cause":
        let causes = DeadCause.allCases.map(\.rawValue).joined(separator: ", ")
        options.filter.cause = try words.value(of: word, "one of: \(causes)", DeadCause.init)
      case "--publisher": options.filter.publisher = try words.value(of: word, "a publisher's id", Int64.init)
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
