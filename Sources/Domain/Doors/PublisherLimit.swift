/// How many things of all publishers a gateway keeps at a time, for example requests that wait, or jobs that it looks
/// at while Apple is away.
///
/// Those of one publisher may be three of four, so that the others have room too.
public struct PublisherLimit: Sendable, Equatable {
  private let most: Int
  private var counts: [PublisherId: Int] = [:]
  /// How many there are now.
  public private(set) var count = 0

  /// Creates a limit.
  public init(most: Int) { self.most = most }

  /// Begins with some things of a publisher's.
  ///
  /// - Returns: whether they fit. If not, nothing has begun.
  public mutating func begin(_ added: Int = 1, of publisher: PublisherId) -> Bool {
    guard count + added <= most, counts[publisher, default: 0] + added <= max(1, most * 3 / 4) else { return false }
    count += added
    counts[publisher, default: 0] += added
    return true
  }

  /// Ends what ``begin(_:of:)`` has begun.
  public mutating func end(_ ended: Int = 1, of publisher: PublisherId) {
    count -= ended
    counts[publisher, default: ended] -= ended
    if counts[publisher] == 0 { counts[publisher] = nil }
  }
}
