/// What a notification tells of, in Apple's words: its type and its subtype, as in `DID_RENEW/BILLING_RECOVERY`.
///
/// Apple adds types and subtypes at any time. A kind that this version does not know is stored as well, and its
/// evidence counts like all evidence; only ``reason`` is missing.
public struct NotificationKind: Hashable, Sendable, CustomStringConvertible {
  /// The event.
  public let type: NotificationType
  /// More about it, for some types.
  public let subtype: NotificationSubtype?

  /// Creates a kind.
  public init(_ type: NotificationType, _ subtype: NotificationSubtype? = nil) {
    self.type = type
    self.subtype = subtype
  }

  public var description: String { subtype.map { "\(type.rawValue)/\($0.rawValue)" } ?? type.rawValue }
}
