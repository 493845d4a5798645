import JSON

extension Event {
  /// The event of a request for a refund.
  ///
  /// - Parameters:
  ///   - offerId: the offer that has the product.
  ///   - version: of the purchase.
  ///   - time: milliseconds since 1970.
  ///   - revision: of the request, if it is told again because the publisher has to answer after all. It makes the id
  ///     another one.
  public convenience init(
    of request: RefundRequest, offerId: OfferId?, version: Int64, time: Int64, traceparent: String?,
    again revision: Int64? = nil
  ) {
    self.init(
      of: [request.id.text] + (revision.map { [String($0)] } ?? []), publisherId: request.purchase.publisherId,
      customerId: request.customerId, topic: EventTopic.refundRequested, version: version, time: time,
      traceparent: traceparent
    ) { data in
      data.member("answering", request.state == .sending)
      if let customer = request.customerId { data.customer(customer) }
      data.time("deadline", request.deadline)
      data.member("environment", request.purchase.environment)
      data.member("offerId", offerId)
      data.member("originalTransactionId", request.purchase.originalTransactionId)
      data.member("productId", request.productId)
      data.member("reason", request.reason)
      data.member("refundRequestId", request.id)
      data.time("requestedAt", request.requestedAt)
      data.member("transactionId", request.transactionId)
      data.member("type", request.kind.rawValue)
    }
  }
}
