import Domain
import JSON

extension AuditEntry {
  /// A decision about the answer to a request for a refund.
  ///
  /// - Parameter action: `answered` or `withheld`.
  static func refund(_ action: String, _ request: RefundRequest, by actor: Actor) -> AuditEntry {
    AuditEntry(
      publisherId: request.purchase.publisherId, actor: actor, action: "refundRequest.\(action)",
      subject: request.id.text,
      detail: JSONWriter.object { detail in
        detail.member("answer", json: request.answer?.body)
        detail.member("environment", request.purchase.environment)
        detail.member("transactionId", request.transactionId)
      })
  }
}
