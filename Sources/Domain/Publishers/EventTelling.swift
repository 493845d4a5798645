import Formats

/// What becomes of an event that is about to leave the fleet.
public enum EventTelling: Sendable, Equatable {
  /// Whoever wants it gets it.
  case told
  /// Nobody gets it yet. The question is asked again after this time.
  case waits(Duration)
  /// Nobody gets it: its publisher is in shadow mode. The ledger keeps it for those who ask.
  case kept
}

extension Publishers {
  /// How long an event waits whose publisher's file has a mistake, so that its mode is not known.
  static let untilMended = Duration.seconds(30)

  /// Decides whether an event leaves the fleet.
  ///
  /// Roles read a publisher's file one after the other. So a notifier may still read `shadow` when a worker reads
  /// `live` already, and has told an event. Such an event waits until every role has read the file. An older one is of
  /// the time before the change to `shadow`, and nobody gets it.
  ///
  /// - Parameters:
  ///   - time: when the event happened, in milliseconds since 1970; `nil` if that is not known, and then it is old.
  ///   - now: milliseconds since 1970.
  ///   - settling: how long roles may differ about a file.
  public func telling(of publisher: PublisherId, since time: Int64?, now: Int64, settling: Duration) -> EventTelling {
    switch lookUp(publisher) {
    // An event may be all that is left of a publisher without a file.
    case .unknown: return .told
    case .broken: return .waits(Self.untilMended)
    case .found(let publisher) where publisher.mode == .live: return .told
    case .found: break
    }
    guard let time else { return .kept }
    let age = Duration.milliseconds(now.subtracting(time))
    // A time that is far ahead is a wrong one.
    let isRecent = age < settling && settling + age >= .zero
    guard isRecent else { return .kept }
    return .waits(settling - max(.zero, age))
  }
}

extension Delivery {
  /// Whether the publisher's mode decides about the delivery. It does not if a person has asked for it, and an old
  /// system needs Apple's notifications while its publisher tries this one.
  public var followsMode: Bool {
    round.isFirst && notification == nil && topic != EventTopic.test
  }
}
