/// What Apple's refund of a transaction does to the access that the transaction gives. A refund of an earlier period
/// never ends the present one, and the end of family sharing always ends a member's access.
public enum RefundPolicy: String, Sendable, CaseIterable {
  /// The access ends with the refund.
  case endAccess
  /// The access lasts until the end of the period that was refunded. A purchase without an end loses it at once.
  case keepUntilPeriodEnd
  /// The access stays. Events tell the refund.
  case reportOnly
}
