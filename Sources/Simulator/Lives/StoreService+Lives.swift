/// The App Store Server API about lives.
extension StoreService {
  /// Decides about a call for a transaction of a life; `nil` if no life has it.
  func decision(about question: StoreQuestion, _ call: StoreCall) -> StoreDecision? {
    // Nearly every call of a load test is about a scenario.
    guard lives.has(question.transactionId), let life = try? lives.life(question.transactionId) else { return nil }
    // Another app's purchases, and those of the other environment, are unknown.
    guard life.terms.bundleId == question.app.bundleId, life.terms.environment == question.environment
    else {
      return StoreDecision(.failure(.transactionIdNotFound))
    }
    let customer = lives.customer(of: life)
    var dates: [String: Int64] = [:]
    for life in customer { dates[life.id] = lives.signingDate(of: life.id) }
    func date(_ life: Life) -> Int64 { dates[life.id] ?? question.now }
    guard var purchase = life.purchase(asked: question.transactionId, signedAt: date(life)) else {
      return StoreDecision(.failure(.transactionIdNotFound))
    }
    purchase.related = customer.filter { $0.id != life.id }.compactMap { $0.subscription(signedAt: date($0)) }
    if call.endpoint == .history, let history = try? LifeHistory(call.query) {
      let page = history.page(of: customer)
      purchase.history = page.items.map { $0.life.payload($0.transaction, signedAt: date($0.life)) }
      purchase.page = StorePurchase.Page(revision: "\(customer[0].id)_\(page.revision)", hasMore: page.hasMore)
    }
    return StoreDecision(.purchase(purchase, .genuine))
  }

  /// The purchase of a life as an app would hold it.
  func heldPurchase(_ transactionId: String) -> StorePurchase? {
    guard let life = try? lives.life(transactionId) else { return nil }
    return life.purchase(asked: transactionId, signedAt: lives.signingDate(of: life.id))
  }
}
