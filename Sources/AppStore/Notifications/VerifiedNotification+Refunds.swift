public import Domain

extension VerifiedNotification {
  /// What it tells about a refund; `nil` for all other notifications.
  public var refund: RefundNotice? {
    guard let transactionId = transaction?.payload.transactionId else { return nil }
    let told: RefundNotice.Kind
    switch kind.type {
    case .consumptionRequest: told = .asked(reason: payload.data?.consumptionRequestReason?.rawValue)
    case .refund, .refundDeclined: told = .decided
    default: return nil
    }
    return RefundNotice(told, transactionId: transactionId, signedDate: signedDate)
  }
}
