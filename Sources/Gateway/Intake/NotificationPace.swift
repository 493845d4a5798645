import Domain
import HTTPServer

/// How many notifications each client address may post to this gateway (`gateway.refusedNotificationsPerSecond`).
///
/// Anybody may post, and only reading a post shows whether Apple signed it. So refused posts count, and a source with
/// too many of them is answered with 429 before its body is read. All apps of all publishers share Apple's addresses.
/// Therefore an address counts for each publisher's path by itself: a publisher whose shared secret is wrong here
/// holds up only its own posts. Posts that are Apple's count too, since anybody can repeat one; but their pace is so
/// wide that Apple never reaches it. An IPv6 network of 48 bits may post twice as much as one of its networks of 64.
///
/// No notification is lost that the gateway would have taken. Above the pace one post a second is read all the same:
/// what is Apple's and new makes up for a refused one. Apple posts again after every answer but 200: after 1, 12, 24,
/// 48 and 72 hours. And a worker reads Apple's Notification History for missing ones.
struct NotificationPace {
  /// Who posts, and where.
  struct Source: Hashable {
    /// The client's address. All clients that a proxy does not name are one.
    let address: AddressGroup
    /// The publisher that the path names; `nil` for our own path, which names none.
    let publisher: PublisherId?

    /// The same address, whatever it posts to.
    var onAnyPath: Source { Source(address: address, publisher: nil) }
    /// The network of 48 bits around an IPv6 address; an IPv4 address itself.
    var wide: Source { Source(address: address.wide, publisher: publisher) }
  }

  /// The refused posts of so many seconds may come at once.
  static let burst = Duration.seconds(30)
  /// An address may post so many times as much that is refused, on all paths together.
  static let paths = 20
  /// An address may post so many times as much that is Apple's, and that of ten minutes at once: after an outage Apple
  /// repeats whatever was not answered with 200.
  static let taken = 20
  static let burstOfTaken = Duration.seconds(600)
  /// What counts as one post. Apple's version 2 has less; its version 1, with a receipt, some times as much.
  static let unit = 16_384

  private var refused: NetworkPace
  private var refusedAnywhere: NetworkPace
  private var accepted: NetworkPace
  private var read: NetworkPace

  /// The most keys that one of the paces remembers.
  var count: Int { max(refused.count, refusedAnywhere.count, accepted.count, read.count) }

  init(refusedPerSecond: Int) {
    let pause = Duration.seconds(1) / max(1, refusedPerSecond)
    refused = NetworkPace(pause: pause, burst: Self.burst, sharesTheRest: false)
    refusedAnywhere = NetworkPace(pause: pause / Self.paths, burst: Self.burst)
    accepted = NetworkPace(pause: pause / Self.taken, burst: Self.burstOfTaken)
    read = NetworkPace(pause: .seconds(1), burst: .seconds(1))
  }

  /// The seconds after which a source may post again; `nil` if it may now.
  ///
  /// - Parameter now: the time of a clock that is never set back.
  mutating func refusal(of source: Source, now: Duration) -> Int? {
    let anywhere = source.onAnyPath
    let wait = max(
      refused.wait(of: source, now: now), refusedAnywhere.wait(of: anywhere, now: now),
      accepted.wait(of: anywhere, now: now))
    guard wait > .zero else { return nil }
    if read.wait(of: anywhere, now: now) <= .zero {
      read.note(anywhere, now: now)
      return nil
    }
    return Int(wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0)
  }

  /// Counts a post that neither Apple nor anybody who knows the shared secret has made, by its size.
  ///
  /// - Parameter bytes: of the body; 0 to the most that the server takes.
  mutating func noteRefused(_ source: Source, bytes: Int, now: Duration) {
    refused.note(source, Self.units(bytes), now: now)
    refusedAnywhere.note(source.onAnyPath, Self.units(bytes), now: now)
  }

  /// Counts any other post, by its size: what Apple signed, also for an app that no publisher lists, and what is
  /// Apple's but came to the wrong path.
  ///
  /// - Parameter bytes: of the body; 0 to the most that the server takes.
  mutating func noteTaken(_ source: Source, bytes: Int, now: Duration) {
    accepted.note(source.onAnyPath, Self.units(bytes), now: now)
  }

  private static func units(_ bytes: Int) -> Int {
    let (units, rest) = bytes.quotientAndRemainder(dividingBy: unit)
    return max(1, units + (rest > 0 ? 1 : 0))
  }

  /// Notes that the ledger did not have a post. Only that makes up for a refused one: a stranger can repeat one of
  /// Apple's as often as they like.
  mutating func noteNew(_ source: Source) {
    refused.giveBack(source)
    refusedAnywhere.giveBack(source.onAnyPath)
  }
}
