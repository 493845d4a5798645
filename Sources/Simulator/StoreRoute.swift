/// The endpoints of the App Store Server API that are simulated.
enum StoreEndpoint: String, CaseIterable, Sendable {
  case transactions
  case subscriptions
  case history
  case testNotification

  var method: String { self == .testNotification ? "POST" : "GET" }
}

/// What a request line asks for.
enum StoreRoute: Equatable, Sendable {
  /// Whether the process is alive.
  case liveness
  /// The log of calls.
  case calls
  /// The counts of calls, for Prometheus.
  case metrics
  /// A call of the API.
  case store(StoreCall)
  /// Nothing that exists.
  case unknown

  /// Reads a path with its query.
  init(path: String) {
    let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    let query = parts.count == 2 ? String(parts[1]) : ""
    switch (segments.count, segments.first) {
    case (1, "livez"), (1, "readyz"): self = .liveness
    case (1, "metrics"): self = .metrics
    case (2, "simulator") where segments[1] == "calls": self = .calls
    default: self = StoreCall(segments, query: query).map(StoreRoute.store) ?? .unknown
    }
  }
}

/// A call of the App Store Server API, not yet checked.
struct StoreCall: Equatable, Sendable {
  var environment: StoreEnvironment
  var endpoint: StoreEndpoint
  /// As sent: it may be no transaction id at all.
  var transactionId: String
  var query: [QueryItem]

  /// One parameter; no value that the API knows needs percent-encoding.
  struct QueryItem: Equatable, Sendable {
    var name: String
    var value: String
  }

  fileprivate init?(_ segments: [String], query: String) {
    guard segments.count == 5, let environment = StoreEnvironment(rawValue: segments[0]), segments[1] == "inApps"
    else { return nil }
    switch (segments[2], segments[3]) {
    case ("v1", "transactions"): endpoint = .transactions
    case ("v1", "subscriptions"): endpoint = .subscriptions
    case ("v2", "history"): endpoint = .history
    case ("v1", "notifications") where segments[4] == "test": endpoint = .testNotification
    default: return nil
    }
    self.environment = environment
    transactionId = endpoint == .testNotification ? "" : segments[4]
    self.query = query.split(separator: "&").map { item in
      let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return QueryItem(name: String(sides[0]), value: sides.count == 2 ? String(sides[1]) : "")
    }
  }

  /// What is wrong with the parameters, if anything.
  var failure: StoreFailure? {
    guard endpoint != .testNotification else { return nil }
    let isNumber = transactionId.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard isNumber, 1...20 ~= transactionId.utf8.count else { return .invalidTransactionId }
    switch endpoint {
    case .transactions: return query.isEmpty ? nil : .badRequest
    case .history: return query.allSatisfy { Self.historyFilters.contains($0.name) } ? nil : .badRequest
    case .subscriptions:
      guard query.allSatisfy({ $0.name == "status" }) else { return .badRequest }
      return query.allSatisfy { Int($0.value).map { 1...5 ~= $0 } == true } ? nil : .invalidStatus
    case .testNotification: return nil
    }
  }

  /// The subscription statuses that are asked for; empty for all.
  var statuses: Set<Int> {
    endpoint == .subscriptions ? Set(query.compactMap { Int($0.value) }) : []
  }

  /// Accepted and ignored: the history of a simulated purchase fits on one page.
  private static let historyFilters: Set<String> = [
    "revision", "startDate", "endDate", "productId", "productType", "sort", "subscriptionGroupIdentifier",
    "inAppOwnershipType", "revoked",
  ]
}
