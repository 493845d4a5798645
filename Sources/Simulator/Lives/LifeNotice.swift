/// What Apple tells about a change, by Apple's names.
struct LifeNotice: Equatable, Sendable {
  var type: String
  var subtype: String?
  /// The transaction in the notification.
  var transactionId: String
  /// Why the customer wants the money back.
  var requestReason: String?

  init(_ type: String, _ subtype: String? = nil, _ transactionId: String, requestReason: String? = nil) {
    self.type = type
    self.subtype = subtype
    self.transactionId = transactionId
    self.requestReason = requestReason
  }
}
