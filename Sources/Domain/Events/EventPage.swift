/// What the ledger knew when a reader by pull asked for a page.
public struct EventMoment: Sendable, Equatable {
  /// The publisher and the ledger's history, as ``EventCursor/history(system:timeline:publisher:)`` makes it.
  public var history: UInt64
  /// The number that no transaction had yet. No event of this history lies behind it.
  public var end: Int64
  /// How far the events that were deleted because of their age reach.
  public var floor: EventPosition?
  /// The greatest position of all events of the publisher, including events that nobody may read yet.
  public var newest: EventPosition?
  /// The last position that the ledger looked at; `nil` if nothing is behind the cursor.
  public var lookedUpTo: EventPosition?
  /// How many events it looked at.
  public var lookedAt: Int
  /// How many of them the reader wants.
  public var wanted: Int

  /// Creates a moment.
  public init(
    history: UInt64, end: Int64, floor: EventPosition? = nil, newest: EventPosition? = nil,
    lookedUpTo: EventPosition? = nil, lookedAt: Int = 0, wanted: Int = 0
  ) {
    (self.history, self.end, self.floor, self.newest) = (history, end, floor, newest)
    (self.lookedUpTo, self.lookedAt, self.wanted) = (lookedUpTo, lookedAt, wanted)
  }

  /// Why a reader gets no page; `nil` if it gets one.
  public func refusal(of cursor: EventCursor?) -> EventCursorRefusal? {
    if let newest, newest.horizon > end { return .ledgerNotReady }
    if let floor, floor.horizon > end { return .ledgerNotReady }
    guard let cursor else { return nil }
    if cursor.history != history || cursor.position.horizon > end { return .otherHistory }
    if let floor, cursor.position < floor { return .deleted }
    return nil
  }
}

/// Why a reader by pull cannot go on from its cursor.
public enum EventCursorRefusal: Sendable, Equatable {
  /// Events behind the cursor are deleted, since they are too old.
  case deleted
  /// The cursor is of another publisher, or of the ledger before a restore or a promotion.
  case otherHistory
  /// The events came from another server, and `countersign migrate` has not put them in order yet.
  case ledgerNotReady
}

/// The events that a reader by pull gets at once.
public struct EventPage: Sendable, Equatable {
  /// In the order of their positions.
  public let events: [Event]
  /// Where the next page begins.
  public let next: EventCursor
  /// Whether the ledger may have more already.
  public let hasMore: Bool

  /// - Parameters:
  ///   - events: the ones that fit into the page, with their positions.
  ///   - cursor: where the page begins; `nil` for the beginning.
  ///   - window: the most events that the ledger looks at for a page.
  public init(
    _ events: [(event: Event, position: EventPosition)], after cursor: EventCursor?, _ moment: EventMoment,
    window: Int
  ) {
    self.events = events.map(\.event)
    let isCut = events.count < moment.wanted
    let behind = moment.lookedUpTo ?? cursor?.position ?? moment.floor ?? .start
    next = EventCursor(history: moment.history, position: isCut ? events.last?.position ?? behind : behind)
    hasMore = isCut || moment.lookedAt >= window
  }
}
