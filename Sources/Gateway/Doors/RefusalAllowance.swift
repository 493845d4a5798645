package import Domain
package import EventLoop
package import Formats

/// What refused requests may write, such as a row of the audit log or an event.
///
/// Whoever sends such requests costs the ledger a row with each: every copy of an app has its client token, and a
/// customer's token is in the customer's hands. So ten different ones of a sender are written a minute, from each
/// gateway. The answers stay the same, and the metric of the door's answers counts them all.
@LoopActor
package final class RefusalAllowance {
  /// Whose requests they are: an app's, or a customer's.
  package struct Sender: Hashable {
    package let door: Door
    package let publisherId: PublisherId
    /// The app's bundle id or the customer's id; a door has one kind of them.
    package let name: ExactText

    /// Names a sender.
    package init(_ door: Door, publisherId: PublisherId, name: ExactText) {
      (self.door, self.publisherId, self.name) = (door, publisherId, name)
    }
  }

  /// The most refused requests of a sender that are written in a minute.
  static let most = 10
  /// The most senders that are remembered, three quarters of them one publisher's. With more, those whose minute is
  /// over are forgotten; if none is, nobody new of the publisher writes anything.
  static let mostSenders = 10_000
  private nonisolated static let minute: Int64 = 60_000
  private nonisolated static let second: Int64 = 1000

  private struct Window {
    let start: Int64
    var requests: Set<[UInt8]> = []

    /// A clock may be set back.
    func holds(_ now: Int64) -> Bool { start <= now && now.subtracting(start) < minute }
  }

  private var windows: [Sender: Window] = [:]
  /// How many of the remembered senders are each publisher's.
  private var senders = PublisherLimit(most: mostSenders)
  private var lastTidying: Int64?

  /// Creates an allowance in which nobody has used anything up.
  package init() {}

  /// Whether a refused request is written. If so, it counts from now on.
  ///
  /// - Parameters:
  ///   - digest: names the request. The same one is written once a minute.
  ///   - now: milliseconds since 1970.
  package func admits(_ digest: [UInt8], of sender: Sender, now: Int64) -> Bool {
    var window = windows[sender] ?? Window(start: now)
    if !window.holds(now) { window = Window(start: now) }
    if windows[sender] == nil, !senders.begin(of: sender.publisherId) {
      tidy(now)
      guard senders.begin(of: sender.publisherId) else { return false }
    }
    let isNew = window.requests.count < Self.most && window.requests.insert(digest).inserted
    windows[sender] = window
    return isNew
  }

  /// Forgets the senders whose minute is over.
  private func tidy(_ now: Int64) {
    // At most once a second: a crowd of senders must not make each request walk through all of them. A clock may be
    // set back.
    if let lastTidying, lastTidying <= now, now.subtracting(lastTidying) < Self.second { return }
    lastTidying = now
    for sender in windows.filter({ !$0.value.holds(now) }).keys {
      windows[sender] = nil
      senders.end(of: sender.publisherId)
    }
  }
}
