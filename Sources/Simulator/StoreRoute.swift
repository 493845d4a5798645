import Formats

/// The endpoints of the App Store Server API that the simulator has.
enum StoreEndpoint: String, CaseIterable, Sendable {
  case transactions
  case subscriptions
  case history
  case testNotification

  var method: String { self == .testNotification ? "POST" : "GET" }
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
  /// A call of the API.
  case store(StoreCall)
  /// No such resource.
  case unknown

  /// Transactions of one app, and the endpoint that a client will ask about them.
  struct Ahead: Equatable, Sendable {
    var environment: StoreEnvironment
    var endpoint: StoreEndpoint
    var bundleId: String
    var transactionIds: Range<Int64>

    /// Reads `environment/endpoint/bundleId/first transactionId/count`.
    fileprivate init?(_ segments: ArraySlice<String>) {
      let segments = Array(segments)
      guard segments.count == 5, let environment = StoreEnvironment(rawValue: segments[0]),
        let endpoint = StoreEndpoint(rawValue: segments[1]), let first = Int64(segments[3]),
        let count = Int64(segments[4]), 1...Int64.max / 2 ~= first, 1...1_000_000 ~= count
      else { return nil }
      self.environment = environment
      self.endpoint = endpoint
      bundleId = segments[2]
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
    case (2...3, "simulator"): self = Mint(Array(segments[1...]), query: query).map(StoreRoute.mint) ?? .unknown
    default: self = StoreCall(segments, query: query).map(StoreRoute.store) ?? .unknown
    }
  }
}

/// A call of the App Store Server API before its checks.
struct StoreCall: Equatable, Sendable {
  var environment: StoreEnvironment
  var endpoint: StoreEndpoint
  /// The id as sent: it may be no transaction id at all.
  var transactionId: String
  var query: [QueryItem]

  /// One parameter; no value that the API knows needs percent-encoding.
  struct QueryItem: Equatable, Sendable {
    var name: String
    var value: String
  }

  fileprivate init?(_ segments: [String], query: [QueryItem]) {
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
    guard endpoint != .testNotification else { return nil }
    guard transactionId.isASCIIDigits(1...20) else { return .invalidTransactionId }
    switch endpoint {
    case .transactions: return query.isEmpty ? nil : .badRequest
    case .history: return query.allSatisfy { Self.historyFilters.contains($0.name) } ? nil : .badRequest
    case .subscriptions:
      guard query.allSatisfy({ $0.name == "status" }) else { return .badRequest }
      return query.allSatisfy { Int($0.value).map { 1...5 ~= $0 } == true } ? nil : .invalidStatus
    case .testNotification: return nil
    }
  }

  /// The subscription statuses that the client asks for; empty for all.
  var statuses: Set<Int> {
    endpoint == .subscriptions ? Set(query.compactMap { Int($0.value) }) : []
  }

  /// The simulator accepts and ignores these: the history of a simulated purchase fits on one page.
  private static let historyFilters: Set<String> = [
    "revision", "startDate", "endDate", "productId", "productType", "sort", "subscriptionGroupIdentifier",
    "inAppOwnershipType", "revoked",
  ]
}
