import Domain

/// Every address of the console.
enum ConsoleRoute: Equatable {
  case page(Page, isJSON: Bool)
  case signIn
  case signOut
  case style

  /// What only somebody with a session sees.
  enum Page: Equatable {
    case find
    case customer(CustomerKey)
    case purchase(PurchaseKey)
  }

  /// Finds the route of a path without the prefix. A page's twin in JSON has `.json` behind the first segment.
  init?(_ path: [String]) {
    // No id has one, and PostgreSQL takes none.
    guard path.allSatisfy({ !$0.utf8.contains(0) }) else { return nil }
    let isJSON = path.first?.hasSuffix(".json") ?? false
    let first = path.first.map { isJSON ? String($0.dropLast(5)) : $0 }
    let ids = path.dropFirst().map(Link.text(ofSegment:))
    switch (first, path.count) {
    case (nil, 0): self = .page(.find, isJSON: false)
    case ("find", 1): self = .page(.find, isJSON: isJSON)
    case ("customers", 3):
      guard let publisher = Int64(ids[0]), CustomerId(ids[1]).isValid else { return nil }
      self = .page(.customer(CustomerKey(publisherId: publisher, id: CustomerId(ids[1]))), isJSON: isJSON)
    case ("purchases", 4):
      guard let publisher = Int64(ids[0]), ids.dropFirst().allSatisfy({ $0.utf8.count <= 64 }) else { return nil }
      let key = PurchaseKey(
        publisherId: publisher, environment: Environment(ids[1]), originalTransactionId: OriginalTransactionId(ids[2]))
      self = .page(.purchase(key), isJSON: isJSON)
    case ("sign-in", 1) where !isJSON: self = .signIn
    case ("sign-out", 1) where !isJSON: self = .signOut
    case ("style.css", 1) where !isJSON: self = .style
    default: return nil
    }
  }

  /// Its name in metrics.
  var label: String {
    switch self {
    case .page(.find, _): "find"
    case .page(.customer, _): "customer"
    case .page(.purchase, _): "purchase"
    case .signIn: "signIn"
    case .signOut: "signOut"
    case .style: "style"
    }
  }

  /// What a browser may do there.
  var methods: [String] {
    switch self {
    case .page, .style: ["GET", "HEAD"]
    case .signIn: ["GET", "HEAD", "POST"]
    case .signOut: ["POST"]
    }
  }

  /// The value of `Allow`.
  var allowed: String { methods.joined(separator: ", ") }
}
