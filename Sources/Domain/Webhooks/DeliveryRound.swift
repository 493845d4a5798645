/// Names a request to deliver an event again; each round counts its attempts from 1.
public struct DeliveryRound: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// The round in which an event comes for the first time; its text is empty.
  public static let first: DeliveryRound = ""

  /// Whether nobody has asked for the event again.
  public var isFirst: Bool { text.isEmpty }
}
