import Configuration
import Domain

/// Every address of the console.
enum ConsoleRoute: Equatable {
  case page(Page, isJSON: Bool)
  case action(Action)
  /// A question to Apple about an order id. It is posted, because each takes a call from the app's budget.
  case order
  case signIn
  case signOut
  /// The way to the provider, and the way back.
  case openID
  case openIDReturn
  case style
  case script

  /// What only somebody with a session sees.
  enum Page: Equatable {
    case find
    case customer(CustomerKey)
    case purchase(PurchaseKey)
    /// What it shows of its rows, the query says (``ListQuestion``).
    case list(ConsoleList)
    case endpoint(EndpointKey)
    case event(EventKey)
    case notification(NotificationKey)
    case synchronization(SynchronizationsKey)
    /// What became of a test notification: the query names it.
    case testNotification
    /// Where a life in the simulator begins, and one that is played.
    case play
    case life(PurchaseKey)

    /// The segments of its address.
    var segments: [String] {
      switch self {
      case .find: []
      case .customer(let key): key.page
      case .purchase(let key): key.page
      case .list(let list): [list.rawValue]
      case .endpoint(let key): key.page
      case .event(let key): key.page
      case .notification(let key): key.page
      case .synchronization(let key): key.page
      case .testNotification: [ConsoleList.notifications.rawValue, "tested"]
      case .play: ["play"]
      case .life(let key): ["play", "\(key.publisherId)", key.originalTransactionId.text]
      }
    }
  }

  /// What changes something. Each is a form that a page of the console posts.
  enum Action: Equatable {
    case give(CustomerKey)
    case withdraw(GrantId, CustomerKey)
    /// Lets purchases from the sandbox give access until a date.
    case allowSandbox(CustomerKey)
    case withdrawSandbox(CustomerKey)
    case note(CustomerKey)
    case release(PurchaseKey)
    /// Gives it to another customer.
    case transfer(PurchaseKey)
    /// Asks Apple about it, and lets a worker apply what Apple says.
    case check(PurchaseKey)
    /// A download. It changes nothing but the audit log.
    case export(CustomerKey)
    case erase(CustomerKey)
    case resend(EventKey, to: EndpointId)
    case recover(EndpointKey)
    case endpoint(EndpointChange, EndpointKey)
    case retry(SynchronizationsKey)
    /// All that wait for one reason.
    case retryAll
    /// Lets what was given up run again, or drops it.
    case dead(DeadChange)
    /// Lets Apple post a test notification.
    case testNotification
    case startLife
    case apply(PlayedLife.Action, PurchaseKey)

    /// The page that has the form.
    var page: Page {
      switch self {
      case .give(let customer), .withdraw(_, let customer), .note(let customer), .export(let customer),
        .erase(let customer), .allowSandbox(let customer), .withdrawSandbox(let customer):
        .customer(customer)
      case .release(let purchase), .transfer(let purchase), .check(let purchase): .purchase(purchase)
      case .resend(let event, _): .event(event)
      case .recover(let endpoint), .endpoint(_, let endpoint): .endpoint(endpoint)
      case .retry(let synchronizations): .synchronization(synchronizations)
      case .testNotification: .list(.notifications)
      case .dead: .list(.dead)
      case .startLife, .apply: .play
      case .retryAll: .list(.synchronizations)
      }
    }

    /// The fields of the form that also choose what its page shows.
    var choices: [String] {
      switch self {
      case .retryAll, .testNotification: ["publisher"]
      case .dead: ["kind", "cause", "publisher"]
      default: []
      }
    }
  }

  /// Finds the route of a path without the prefix. A page's twin in JSON has `.json` behind the first segment.
  init?(_ path: [String]) {
    // No id has one, and PostgreSQL takes none.
    guard path.allSatisfy({ !$0.utf8.contains(0) }) else { return nil }
    let isJSON = path.first?.hasSuffix(".json") ?? false
    let first = path.first.map { isJSON ? String($0.dropLast(5)) : $0 }
    let ids = path.dropFirst().map(PagePath.segment(ofDecoded:))
    switch (first, path.count) {
    case (nil, 0): self = .page(.find, isJSON: false)
    case ("find", 1): self = .page(.find, isJSON: isJSON)
    case ("customers", 3...):
      guard let publisher = PublisherId(ids[0]), CustomerId(ids[1]).isValid else { return nil }
      let customer = CustomerKey(publisherId: publisher, id: CustomerId(ids[1]))
      switch (Array(ids.dropFirst(2)), isJSON) {
      case ([], _): self = .page(.customer(customer), isJSON: isJSON)
      case (["grants"], false): self = .action(.give(customer))
      case (["sandbox"], false): self = .action(.allowSandbox(customer))
      case (["sandbox", "withdraw"], false): self = .action(.withdrawSandbox(customer))
      case (["notes"], false): self = .action(.note(customer))
      case (["export"], false): self = .action(.export(customer))
      case (["erase"], false): self = .action(.erase(customer))
      case (let rest, false) where rest.count == 3 && rest[0] == "grants" && rest[2] == "withdraw":
        guard let grant = GrantId(canonical: rest[1]) else { return nil }
        self = .action(.withdraw(grant, customer))
      default: return nil
      }
    case ("purchases", 4...):
      let names = ids.dropFirst().prefix(2)
      guard let publisher = PublisherId(ids[0]), names.allSatisfy({ $0.utf8.count <= 64 }) else { return nil }
      let key = PurchaseKey(
        publisherId: publisher, environment: Environment(ids[1]), originalTransactionId: OriginalTransactionId(ids[2]))
      switch (Array(ids.dropFirst(3)), isJSON) {
      case ([], _): self = .page(.purchase(key), isJSON: isJSON)
      case (["release"], false): self = .action(.release(key))
      case (["transfer"], false): self = .action(.transfer(key))
      case (["check"], false): self = .action(.check(key))
      default: return nil
      }
    case ("synchronizations", 2) where ids == ["retry"] && !isJSON: self = .action(.retryAll)
    case (let name?, 3...) where ConsoleRoute.traffic.contains(name):
      guard let publisher = PublisherId(ids[0]),
        let route = ConsoleRoute(name, publisher, Array(ids.dropFirst()), isJSON)
      else { return nil }
      self = route
    case (let name?, 1) where ConsoleList(rawValue: name) != nil:
      guard let list = ConsoleList(rawValue: name) else { return nil }
      self = .page(.list(list), isJSON: isJSON)
    case ("notifications", 2) where ids == ["test"] && !isJSON: self = .action(.testNotification)
    case ("notifications", 2) where ids == ["tested"] && !isJSON: self = .page(.testNotification, isJSON: false)
    case ("dead", 2) where !isJSON:
      guard let change = DeadChange(rawValue: ids[0]) else { return nil }
      self = .action(.dead(change))
    case ("play", 1...) where !isJSON:
      guard let route = ConsoleRoute(play: Array(ids)) else { return nil }
      self = route
    case ("orders", 1) where !isJSON: self = .order
    case ("sign-in", 1) where !isJSON: self = .signIn
    case ("sign-in", 2) where ids == ["openid"] && !isJSON: self = .openID
    case ("sign-in", 3) where path == OpenIDSettings.returnPath: self = .openIDReturn
    case ("sign-out", 1) where !isJSON: self = .signOut
    case ("style.css", 1) where !isJSON: self = .style
    case (ConsoleScript.name, 1) where !isJSON: self = .script
    default: return nil
    }
  }

  /// Finds the route of *Play a life*.
  private init?(play ids: [String]) {
    func key() -> PurchaseKey? {
      guard let publisher = PublisherId(ids[0]), (1...64).contains(ids[1].utf8.count) else { return nil }
      return PurchaseKey(
        publisherId: publisher, environment: .production, originalTransactionId: OriginalTransactionId(ids[1]))
    }
    switch ids.count {
    case 0: self = .page(.play, isJSON: false)
    case 1 where ids[0] == "start": self = .action(.startLife)
    case 2:
      guard let key = key() else { return nil }
      self = .page(.life(key), isJSON: false)
    case 3:
      guard let key = key(), let action = PlayedLife.Action(rawValue: ids[2]) else { return nil }
      self = .action(.apply(action, key))
    default: return nil
    }
  }

  private static let traffic = ["endpoints", "events", "notifications", "synchronizations"]

  /// Finds the route of something that goes out or comes in, and of its actions.
  ///
  /// - Parameter ids: its own id, and what follows.
  private init?(_ name: String, _ publisher: PublisherId, _ ids: [String], _ isJSON: Bool) {
    guard (1...512).contains(ids[0].utf8.count) else { return nil }
    let endpoint = EndpointKey(publisherId: publisher, id: EndpointId(ids[0]))
    let event = EventKey(publisherId: publisher, id: EventId(ids[0]))
    let synchronizations = SynchronizationsKey(publisherId: publisher, id: SynchronizationId(ids[0]))
    let notification = NotificationKey(publisherId: publisher, uuid: NotificationUUID(ids[0]))
    switch (name, ids.count) {
    case ("endpoints", 1): self = .page(.endpoint(endpoint), isJSON: isJSON)
    case ("endpoints", 2) where ids[1] == "recover" && !isJSON: self = .action(.recover(endpoint))
    case ("endpoints", 2) where !isJSON:
      guard let change = EndpointChange(rawValue: ids[1]) else { return nil }
      self = .action(.endpoint(change, endpoint))
    case ("events", 1): self = .page(.event(event), isJSON: isJSON)
    case ("events", 3) where ids[2] == "resend" && ids[1].utf8.count <= 512 && !isJSON:
      self = .action(.resend(event, to: EndpointId(ids[1])))
    case ("notifications", 1): self = .page(.notification(notification), isJSON: isJSON)
    case ("synchronizations", 1): self = .page(.synchronization(synchronizations), isJSON: isJSON)
    case ("synchronizations", 2) where ids[1] == "retry" && !isJSON: self = .action(.retry(synchronizations))
    default: return nil
    }
  }

  /// Its name in metrics.
  var label: String {
    switch self {
    case .page(.find, _): "find"
    case .page(.customer, _): "customer"
    case .page(.purchase, _): "purchase"
    case .page(.list(let list), _): list.label
    case .action(.give): "grant"
    case .action(.withdraw): "withdrawGrant"
    case .action(.allowSandbox): "allowSandbox"
    case .action(.withdrawSandbox): "withdrawSandbox"
    case .action(.note): "note"
    case .action(.release): "release"
    case .action(.transfer): "transfer"
    case .action(.check): "check"
    case .action(.export): "export"
    case .page(.endpoint, _): "endpoint"
    case .page(.event, _): "event"
    case .page(.notification, _): "notification"
    case .page(.synchronization, _): "synchronization"
    case .action(.erase): "erase"
    case .action(.resend): "resend"
    case .action(.recover): "recover"
    case .action(.endpoint(let change, _)): change.label
    case .action(.retry): "retry"
    case .action(.retryAll): "retryAll"
    case .page(.testNotification, _), .action(.testNotification): "testNotification"
    case .action(.dead(.retry)): "deadRetry"
    case .action(.dead(.drop)): "deadDrop"
    case .page(.play, _), .page(.life, _), .action(.startLife), .action(.apply): "play"
    case .order: "order"
    case .signIn: "signIn"
    case .signOut: "signOut"
    case .openID: "openId"
    case .openIDReturn: "openIdReturn"
    case .style: "style"
    case .script: "script"
    }
  }

  /// What a browser may do there.
  var methods: [String] {
    switch self {
    case .page, .style, .script: ["GET", "HEAD"]
    // A HEAD would cost what a GET does.
    case .openID, .openIDReturn: ["GET"]
    case .signIn: ["GET", "HEAD", "POST"]
    case .signOut, .action, .order: ["POST"]
    }
  }

  /// The value of `Allow`.
  var allowed: String { methods.joined(separator: ", ") }
}
