/// Matches the broker's confirms with their messages. A state machine by value.
///
/// Confirms come out of order and in multiples. If no queue took a message, the broker first returns it and then
/// confirms it all the same. So a return is remembered until its confirm.
struct PublishConfirms<Waiter> {
  /// The fate of a message.
  enum Fate: Equatable {
    case confirmed
    case refused
    case unroutable(String)
  }

  private struct Pending {
    let messageID: String
    let waiter: Waiter
    let deadline: ContinuousClock.Instant?
    var returned: String?
  }

  private var nextTag: UInt64 = 1
  private var lowest: UInt64 = 1
  private var pending: [UInt64: Pending] = [:]

  /// How many messages wait for their confirm.
  var count: Int { pending.count }

  /// Registers the next published message and returns the tag that its confirm will have.
  @discardableResult
  mutating func add(_ messageID: String, _ waiter: Waiter, until deadline: ContinuousClock.Instant? = nil) -> UInt64 {
    let tag = nextTag
    nextTag += 1
    pending[tag] = Pending(messageID: messageID, waiter: waiter, deadline: deadline)
    return tag
  }

  /// Remembers a `basic.return` for the oldest pending message with its id.
  mutating func returned(_ messageID: String, cause: String) {
    let tags = pending.filter { $0.value.messageID == messageID && $0.value.returned == nil }.keys
    guard let tag = tags.min() else { return }
    pending[tag]?.returned = cause
  }

  /// Takes a `basic.ack` or `basic.nack` and returns the waiters that it ends, oldest first.
  mutating func settled(_ tag: UInt64, multiple: Bool, isAck: Bool) -> [(Waiter, Fate)] {
    var ended: [(Waiter, Fate)] = []
    // Tag 0 with multiple means "all so far".
    let last = multiple && tag == 0 ? nextTag - 1 : tag
    guard last < nextTag else { return [] }
    let first = multiple ? lowest : last
    guard first <= last else { return [] }
    for tag in first...last {
      guard let entry = pending.removeValue(forKey: tag) else { continue }
      let fate: Fate = isAck ? entry.returned.map(Fate.unroutable) ?? .confirmed : .refused
      ended.append((entry.waiter, fate))
    }
    while lowest < nextTag, pending[lowest] == nil { lowest += 1 }
    return ended
  }

  /// Forgets the messages whose time is over and returns their waiters. A confirm that comes later is ignored.
  mutating func removeOverdue(at now: ContinuousClock.Instant) -> [Waiter] {
    let overdue = pending.filter { $0.value.deadline.map { $0 <= now } ?? false }
    for tag in overdue.keys { pending[tag] = nil }
    return overdue.sorted { $0.key < $1.key }.map(\.value.waiter)
  }

  /// Takes out every waiter, because the channel has ended.
  mutating func removeAll() -> [Waiter] {
    defer { pending.removeAll() }
    return pending.sorted { $0.key < $1.key }.map(\.value.waiter)
  }
}
