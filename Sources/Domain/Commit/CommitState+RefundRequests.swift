import Formats

/// Requests for refunds, which notifications bring.
extension CommitState {
  /// Takes what a notification tells about a refund, and tells a request that is new.
  ///
  /// Whether the notification brought new evidence does not matter: Apple asks about what it told before.
  mutating func take(_ notice: RefundNotice, of purchase: Purchase, _ update: PurchaseUpdate) {
    let name = RefundRequest.Name(
      publisherId: purchase.key.publisherId, environment: purchase.key.environment, transactionId: notice.transactionId)
    switch RefundRequest.step(notice, after: refundRequests[name], of: purchase, now: now) {
    case .nothing: break
    case .seen(let request): keep(request, isOnlySeen: true)
    case .changed(let request): keep(request)
    case .begun(var request, let ended):
      if let ended { keep(ended) }
      let consent = request.customerId.flatMap { consents[purchase.key.customer($0)] }
      if let facts = purchase.transactions[request.transactionId],
        let answer = ConsumptionPolicy.answer(
          about: facts, owner: request.customerId, consent, publisher: update.publisher, now: now)
      {
        request.send(answer, by: .policy, consent, now: now)
      }
      changes.newRefundRequests.insert(request.id)
      keep(request)
      changes.events.append(
        Event(
          of: request, offerId: update.publisher.offers.offer(forProduct: request.productId)?.id,
          version: purchase.version, time: now, traceparent: update.traceparent))
    }
  }

  private mutating func keep(_ request: RefundRequest, isOnlySeen: Bool = false) {
    let id = request.id
    if !isOnlySeen {
      changes.seenRefundRequests.remove(id)
    } else if changes.refundRequests[id] == nil {
      changes.seenRefundRequests.insert(id)
    }
    refundRequests[request.name] = request
    changes.refundRequests[id] = request
  }
}
