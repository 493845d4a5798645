import Crypto
import Formats

/// Where an event stands among those of its publisher.
///
/// If a commit was over before another one wrote its events, its events have the smaller positions. So the versions of
/// a purchase ascend.
public struct EventPosition: Sendable, Hashable, Comparable {
  /// A number of a transaction: the event's own is smaller, and so are all that were over when the event was written.
  public let horizon: Int64
  /// Tells events with one horizon apart.
  public let place: Int64

  /// The position before all events.
  public static let start = EventPosition(horizon: 0, place: 0)

  /// Creates a position.
  public init(horizon: Int64, place: Int64) { (self.horizon, self.place) = (horizon, place) }

  public static func < (one: Self, other: Self) -> Bool {
    (one.horizon, one.place) < (other.horizon, other.place)
  }
}

/// The place up to which a reader by pull has read the events of a publisher, as text that the reader hands back.
///
/// It belongs to one publisher and to one history of the ledger: positions of another server, or of the time before a
/// restore, mean something else.
public struct EventCursor: Sendable, Equatable {
  /// A hash of the publisher and the history.
  public let history: UInt64
  /// The last position that was read.
  public let position: EventPosition

  /// Creates a cursor.
  public init(history: UInt64, position: EventPosition) { (self.history, self.position) = (history, position) }

  /// The number of the text's form.
  private static let form: UInt8 = 1
  private static let byteCount = 25

  /// Reads a text that ``text`` wrote; `nil` for any other text.
  public init?(_ text: String) {
    guard text.utf8.count == 2 * Self.byteCount, let bytes = Hex.decode(text), bytes.count == Self.byteCount,
      bytes[0] == Self.form, Hex.encode(bytes) == text
    else { return nil }
    func number(_ start: Int) -> UInt64 {
      bytes.dropFirst(start).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard let horizon = Int64(exactly: number(9)), let place = Int64(exactly: number(17)) else { return nil }
    self.init(history: number(1), position: EventPosition(horizon: horizon, place: place))
  }

  /// The text for the reader. Its content is not part of the contract.
  public var text: String {
    let numbers = [history, UInt64(bitPattern: position.horizon), UInt64(bitPattern: position.place)]
    return Hex.encode(
      [Self.form] + numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } })
  }

  /// The hash of a publisher and a history.
  ///
  /// - Parameters:
  ///   - system: the number that PostgreSQL's server got when its data folder was made.
  ///   - timeline: how often a standby was promoted, or the server restored, since then.
  public static func history(system: Int64, timeline: Int64, publisher: PublisherId) -> UInt64 {
    SHA256.hash(Array("\(system):\(timeline):\(publisher)".utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
