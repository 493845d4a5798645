import Formats

/// The endpoints of the App Store Server API that the simulator has.
enum StoreEndpoint: String, CaseIterable, Sendable {
  case transactions
  case subscriptions
  case history
  case testNotification
  case testStatus
  case notificationHistory
  case consumption
  /// Version 1 of Send Consumption Information.
  case oldConsumption
  /// Look Up Order ID. Apple documents no address of the sandbox for it.
  case orderLookup

  var method: String {
    switch self {
    case .transactions, .subscriptions, .history, .testStatus, .orderLookup: "GET"
    case .testNotification, .notificationHistory: "POST"
    case .consumption, .oldConsumption: "PUT"
    }
  }

  /// Whether the answer is a purchase.
  var asksForPurchase: Bool { self == .transactions || self == .subscriptions || self == .history }
}

/// The resource that a request line asks for.
enum StoreRoute: Equatable, Sendable {
  /// Whether the process is alive.
  case liveness
  /// The log of calls.
  case calls
  /// The counts of calls, for Prometheus.
  case metrics
  /// A request to sign answers now and serve them later.
  case signedAhead(Ahead)
  /// A request for what an app would hold.
  case mint(Mint)
  /// A control call about lives.
  case lives(LifeControl)
  /// A control call about the time of lives.
  case time
  /// A request for a notification that nobody posts.
  case forge(NotificationMint)
  /// A control call about notifications.
  case notifications(NotificationControl)
  /// A call of the API.
  case store(StoreCall)
  /// No such resource.
  case unknown

  /// Transactions of one app, and the endpoint that a client will ask about them.
  struct Ahead: Equatable, Sendable {
    var environment: StoreEnvironment
    var endpoint: StoreEndpoint
    var bundleId: ExactText
    var transactionIds: Range<Int64>

    /// Reads `environment/endpoint/bundleId/first transactionId/count`.
    fileprivate init?(_ segments: ArraySlice<String>) {
      let segments = Array(segments)
      guard segments.count == 5, let environment = StoreEnvironment(rawValue: segments[0]),
        let endpoint = StoreEndpoint(rawValue: segments[1]), endpoint.asksForPurchase, let first = Int64(segments[3]),
        let count = Int64(segments[4]), 1...Int64.max / 2 ~= first, 1...1_000_000 ~= count
      else { return nil }
      self.environment = environment
      self.endpoint = endpoint
      bundleId = ExactText(segments[2])
      transactionIds = first..<first + count
    }
  }

  /// Reads a path with its query.
  init(path: String) {
    let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    let query = StoreCall.query(parts.count == 2 ? parts[1] : "")
    switch (segments.count, segments.first) {
    case (1, "livez"), (1, "readyz"): self = .liveness
    case (1, "metrics"): self = .metrics
    case (2, "simulator") where segments[1] == "calls": self = .calls
    case (7, "simulator") where segments[1] == "signed":
      self = Ahead(segments[2...]).map(StoreRoute.signedAhead) ?? .unknown
    case (2...4, "simulator") where segments[1] == "lives":
      self = LifeControl(Array(segments[2...]), query: query).map(StoreRoute.lives) ?? .unknown
    case (2...3, "simulator") where segments[1] == "notifications":
      self = NotificationControl(Array(segments[2...]), query: query).map(StoreRoute.notifications) ?? .unknown
    case (2, "simulator") where segments[1] == "time" && query.isEmpty: self = .time
    case (3, "simulator") where segments[1] == "notification":
      self = NotificationMint(segments[2], query: query).map(StoreRoute.forge) ?? .unknown
    case (2...3, "simulator"): self = Mint(Array(segments[1...]), query: query).map(StoreRoute.mint) ?? .unknown
    default: self = StoreCall(segments, query: query).map(StoreRoute.store) ?? .unknown
    }
  }
}

/// A call of the App Store Server API before its checks.
struct StoreCall: Equatable, Sendable {
  var environment: StoreEnvironment
  var endpoint: StoreEndpoint
  /// The id as sent: it may be no transaction id at all. Look Up Order ID has the order's id here.
  var transactionId: String
  var query: [QueryItem]

  /// One parameter; no value that the API knows needs percent-encoding.
  struct QueryItem: Equatable, Sendable {
    var name: String
    var value: String
  }

  fileprivate init?(_ segments: [String], query: [QueryItem]) {
    guard 5...6 ~= segments.count, let environment = StoreEnvironment(rawValue: segments[0]), segments[1] == "inApps"
    else { return nil }
    let isLong = segments.count == 6
    switch (segments[2], segments[3]) {
    case ("v1", "transactions") where !isLong: endpoint = .transactions
    case ("v1", "subscriptions") where !isLong: endpoint = .subscriptions
    case ("v2", "history") where !isLong: endpoint = .history
    case ("v1", "transactions") where segments[4] == "consumption": endpoint = .oldConsumption
    case ("v2", "transactions") where isLong && segments[4] == "consumption": endpoint = .consumption
    case ("v1", "lookup") where !isLong && environment == .production: endpoint = .orderLookup
    case ("v1", "notifications") where segments[4] == "test": endpoint = isLong ? .testStatus : .testNotification
    case ("v1", "notifications") where !isLong && segments[4] == "history": endpoint = .notificationHistory
    default: return nil
    }
    self.environment = environment
    let namesNothing = endpoint == .testNotification || endpoint == .notificationHistory
    transactionId = namesNothing ? "" : segments[segments.count - 1]
    self.query = query
  }

  fileprivate static func query(_ text: Substring) -> [QueryItem] {
    text.split(separator: "&").map { item in
      let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return QueryItem(name: String(sides[0]), value: sides.count == 2 ? String(sides[1]) : "")
    }
  }

  /// The mistake in the parameters, if there is one.
  var failure: StoreFailure? {
    if endpoint == .orderLookup { return StoreOrder.isForm(transactionId) && query.isEmpty ? nil : .badRequest }
    // The other endpoints check their parameters together with the body.
    guard endpoint.asksForPurchase || endpoint == .consumption || endpoint == .oldConsumption else { return nil }
    guard transactionId.isASCIIDigits(1...20) else { return .invalidTransactionId }
    switch endpoint {
    case .transactions: return query.isEmpty ? nil : .badRequest
    case .history:
      do throws(StoreFailure) { _ = try LifeHistory(query) } catch { return error }
      return nil
    case .subscriptions:
      guard query.allSatisfy({ $0.name == "status" }) else { return .badRequest }
      return query.allSatisfy { Int($0.value).map { 1...5 ~= $0 } == true } ? nil : .invalidStatus
    default: return nil
    }
  }

  /// The subscription statuses that the client asks for; empty for all.
  var statuses: Set<Int> {
    endpoint == .subscriptions ? Set(query.compactMap { Int($0.value) }) : []
  }
}
