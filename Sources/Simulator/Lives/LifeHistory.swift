import Formats

/// The filters of Get Transaction History, and the place where its pages go on.
struct LifeHistory: Equatable, Sendable {
  var after: Int64?
  var startDate: Int64?
  var endDate: Int64?
  var products: Set<String> = []
  var kinds: Set<String> = []
  var groups: Set<String> = []
  var isDescending = false
  var ownership: String?
  var isRevoked: Bool?

  /// Apple's page.
  static let limit = 20

  /// Reads a query.
  init(_ query: [StoreCall.QueryItem]) throws(StoreFailure) {
    for item in query {
      switch item.name {
      case "revision":
        let parts = item.value.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0].isASCIIDigits(1...20), let number = Int64(parts[1]), number >= 0 else {
          throw .invalidRevision
        }
        after = number
      case "startDate": startDate = try Self.date(item.value, .invalidStartDate)
      case "endDate": endDate = try Self.date(item.value, .invalidEndDate)
      case "productId":
        guard !item.value.isEmpty else { throw .invalidProductId }
        products.insert(item.value)
      case "productType":
        guard LifeKind.allCases.contains(where: { $0.filterName == item.value }) else { throw .invalidProductType }
        kinds.insert(item.value)
      case "sort":
        guard ["ASCENDING", "DESCENDING"].contains(item.value) else { throw .invalidSort }
        isDescending = item.value == "DESCENDING"
      case "subscriptionGroupIdentifier":
        guard item.value.isASCIIDigits() else { throw .invalidGroup }
        groups.insert(item.value)
      case "inAppOwnershipType":
        guard ["PURCHASED", "FAMILY_SHARED"].contains(item.value) else { throw .invalidOwnership }
        ownership = item.value
      case "revoked":
        guard ["true", "false"].contains(item.value) else { throw .invalidRevoked }
        isRevoked = item.value == "true"
      default: throw .badRequest
      }
    }
    if let startDate, let endDate, startDate > endDate { throw .startDateAfterEndDate }
  }

  private static func date(_ text: String, _ failure: StoreFailure) throws(StoreFailure) -> Int64 {
    guard text.isASCIIDigits(1...15), let date = Int64(text) else { throw failure }
    return date
  }

  /// Returns the page of a customer's transactions. A transaction that changes later comes again, behind the others.
  func page(of lives: [Life]) -> (items: [(life: Life, transaction: LifeTransaction)], revision: Int64, hasMore: Bool) {
    var found = lives.flatMap { life in life.transactions.filter { includes($0, of: life) }.map { (life, $0) } }
    found.sort { $0.1.revision < $1.1.revision }
    if isDescending { found.reverse() }
    if let after { found.removeAll { isDescending ? $0.1.revision >= after : $0.1.revision <= after } }
    let items = found.prefix(Self.limit)
    return (
      items.map { (life: $0.0, transaction: $0.1) }, items.last?.1.revision ?? after ?? 0, found.count > items.count
    )
  }

  private func includes(_ transaction: LifeTransaction, of life: Life) -> Bool {
    (startDate.map { transaction.purchaseDate >= $0 } ?? true)
      && (endDate.map { transaction.purchaseDate < $0 } ?? true)
      && (products.isEmpty || products.contains(transaction.productId))
      && (kinds.isEmpty || kinds.contains(life.terms.kind.filterName))
      && (groups.isEmpty || life.isSubscription && groups.contains("20950511"))
      && (ownership.map { ($0 == "FAMILY_SHARED") == life.terms.isFamilyShared } ?? true)
      && (isRevoked.map { $0 == (transaction.revocation != nil) } ?? true)
  }
}
