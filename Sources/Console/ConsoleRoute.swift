import Domain

/// Every address of the console.
enum ConsoleRoute: Equatable {
  case start
  case find(isJSON: Bool)
  case customer(CustomerKey, isJSON: Bool)
  case purchase(PurchaseKey, isJSON: Bool)
  case signIn
  case signOut
  case style

  /// Finds the route of a path without the prefix. A page's twin in JSON has `.json` behind the first segment.
  init?(_ path: [String]) {
    let isJSON = path.first?.hasSuffix(".json") ?? false
    let first = path.first.map { isJSON ? String($0.dropLast(5)) : $0 }
    let publisher = path.dropFirst().first.flatMap { Int64($0) }
    switch (first, path.count) {
    case (nil, 0): self = .start
    case ("find", 1): self = .find(isJSON: isJSON)
    case ("customers", 3):
      guard let publisher, let id = path.last, CustomerId(id).isValid else { return nil }
      self = .customer(CustomerKey(publisherId: publisher, id: CustomerId(id)), isJSON: isJSON)
    case ("purchases", 4):
      guard let publisher, let environment = path.dropFirst(2).first, let id = path.last, id.utf8.count <= 64,
        environment.utf8.count <= 64
      else { return nil }
      self = .purchase(
        PurchaseKey(
          publisherId: publisher, environment: Environment(environment),
          originalTransactionId: OriginalTransactionId(id)), isJSON: isJSON)
    case ("sign-in", 1) where !isJSON: self = .signIn
    case ("sign-out", 1) where !isJSON: self = .signOut
    case ("style.css", 1): self = .style
    default: return nil
    }
  }

  /// Its name in metrics.
  var label: String {
    switch self {
    case .start, .find: "find"
    case .customer: "customer"
    case .purchase: "purchase"
    case .signIn: "signIn"
    case .signOut: "signOut"
    case .style: "style"
    }
  }

  var isPost: Bool { self == .signOut }
}
