/// The id of an event: the same however often it is published, so that consumers drop repeats by it. Among deliveries
/// and attempts a notification of Apple's has such an id, too (``Delivery/id(of:)``).
public struct EventId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Whether a text can be an event's id. A caller need not look for any other text.
  public static func isValid(_ text: String) -> Bool { (1...256).contains(text.unicodeScalars.count) }
}
