public import Domain

extension VerifiedNotification {
  /// What it tells about a refund; `nil` for all other notifications.
  public var refund: RefundNotice? {
    guard let transactionId = transaction?.payload.transactionId else { return nil }
    let told: RefundNotice.Kind
    switch kind.type {
    case .consumptionRequest:
      // The reason goes into an event. No name of Apple's is long.
      let reason = payload.data?.consumptionRequestReason?.rawValue
      told = .asked(reason: reason.flatMap { $0.utf8.count <= EvidenceDefect.longestText ? $0 : nil })
    case .refund, .refundDeclined: told = .decided
    default: return nil
    }
    return RefundNotice(told, transactionId: transactionId, signedDate: signedDate)
  }
}
