/// One line of a timeline in the console. Times are milliseconds since 1970.
public struct ConsoleMoment: Sendable, Equatable {
  /// What the line is about.
  public enum Kind: String, Sendable, CaseIterable {
    case registration, notification, event, attempt, ownership, grant, change, note
  }

  public let kind: Kind
  /// When it happened here. A registration that is under way counts from when it was received.
  public let at: Int64
  /// When Apple signed it.
  public let signedAt: Int64?
  /// Such as the topic of an event.
  public let what: String
  public let id: String
  /// Such as the transaction of a registration, or the person who wrote a note.
  public var about: String?
  /// Such as the result of a registration.
  public let outcome: String?

  /// Creates a line.
  public init(
    kind: Kind, at: Int64, signedAt: Int64? = nil, what: String, id: String, about: String? = nil,
    outcome: String? = nil
  ) {
    (self.kind, self.at, self.signedAt, self.what) = (kind, at, signedAt, what)
    (self.id, self.about, self.outcome) = (id, about, outcome)
  }

  /// Puts lines in order, the newest first.
  public static func newestFirst(_ moments: [ConsoleMoment], limit: Int) -> [ConsoleMoment] {
    let sorted = moments.enumerated().sorted { one, other in
      one.element.at != other.element.at ? one.element.at > other.element.at : one.offset < other.offset
    }
    return sorted.prefix(max(0, limit)).map(\.element)
  }
}
