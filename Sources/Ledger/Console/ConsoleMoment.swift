import Formats
import JSON

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
  /// Such as the transaction of a registration, the purchase of an event, or the person who wrote a note.
  public var about: String?
  /// Such as the result of a registration, the reason of an event, or who made a change: as the column `actor` of the
  /// audit log has it.
  public var detail: String?

  /// Creates a line.
  public init(
    kind: Kind, at: Int64, signedAt: Int64? = nil, what: String, id: String, about: String? = nil,
    detail: String? = nil
  ) {
    (self.kind, self.at, self.signedAt, self.what) = (kind, at, signedAt, what)
    (self.id, self.about, self.detail) = (id, about, detail)
  }

  /// What an event's body says: which purchase or offer it is about, and the reason or the result.
  ///
  /// - Parameter body: as it was published; `nil` or what cannot be read says nothing.
  public static func words(ofEvent body: [UInt8]?) -> (about: String?, detail: String?) {
    guard let body, let text = try? JSONText(body, limits: .own),
      case .object(let whole)? = try? text.decoded(as: JSONValue.self), case .object(let data)? = whole["data"]
    else { return (nil, nil) }
    func member(_ path: String...) -> JSONValue? {
      path.reduce(Optional(JSONValue.object(data))) { value, name in
        guard case .object(let members)? = value else { return nil }
        return members[name]
      }
    }
    func word(_ value: JSONValue?) -> String? {
      guard case .string(let word)? = value, !word.isEmpty else { return nil }
      return JSONWriter.beginning(of: word, upTo: longestWord)
    }
    let about =
      word(member("originalTransactionId")) ?? word(member("purchase", "originalTransactionId"))
      ?? word(member("offerId")) ?? word(member("endpointId"))
    var detail = word(member("reason")) ?? word(member("result")) ?? word(member("purchase", "access", "rule"))
    if detail == nil, member("offerId") != nil {
      // A changed entitlement says no reason, but what it is now.
      if case .bool(let isGranted)? = member("after", "accessGranted") {
        detail = isGranted ? "access" : "no access"
      } else if member("before") != nil {
        detail = "no access"
      }
      if let access = detail, let cause = word(member("cause")) { detail = "\(access), \(cause)" }
    }
    return (about, detail)
  }

  private static let longestWord = 200

  /// Puts lines in order, the newest first.
  public static func newestFirst(_ moments: [ConsoleMoment], limit: Int) -> [ConsoleMoment] {
    let sorted = moments.enumerated().sorted { one, other in
      one.element.at != other.element.at ? one.element.at > other.element.at : one.offset < other.offset
    }
    return sorted.prefix(max(0, limit)).map(\.element)
  }
}
