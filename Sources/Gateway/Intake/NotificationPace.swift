import Transport

/// How many refused notifications each client address may post to this gateway
/// (`gateway.refusedNotificationsPerSecond`).
///
/// Anybody may post, and only reading a post shows whether Apple signed it. So refused posts count, and a source with
/// too many of them is answered with 429 before its body is read. What Apple signed counts nothing, also of an app that
/// no publisher lists: each such post makes up for a refused one. So Apple's addresses are not held up by one app whose
/// shared secret is wrong here, while a stranger soon reaches the limit.
///
/// No notification is lost that the gateway would have taken. Apple posts it again after every answer but 200: after 1,
/// 12, 24, 48 and 72 hours. And a worker reads Apple's Notification History for those that did not arrive.
struct NotificationPace {
  /// Who posts: an IPv4 address, or the first half of an IPv6 address, since a site has all addresses of a /64.
  struct Source: Hashable {
    private let bytes: [UInt8]

    /// - Parameter address: `nil` for a client that a proxy does not name. All of these share one pace.
    init(_ address: NetworkAddress?) {
      bytes = address.map { Array($0.bytes.prefix($0.bytes.count == 16 ? 8 : 4)) } ?? []
    }
  }

  /// The refused posts of so many seconds may come at once.
  static let burst = Duration.seconds(30)
  /// The gateway remembers so many sources. Further ones share one pace until others have been silent.
  static let most = 10_000

  /// When each source will have used up no part of its rate, as time since the start.
  private var used: [Source: Duration] = [:]
  private var lastTidying = Duration.zero
  private let pause: Duration

  /// How many sources the gateway remembers.
  var count: Int { used.count }

  init(refusedPerSecond: Int) { pause = .seconds(1) / max(1, refusedPerSecond) }

  /// The seconds after which a source may post again; `nil` if it may now.
  ///
  /// This is the generic cell rate algorithm.
  ///
  /// - Parameter now: the time of a clock that is never set back.
  func refusal(of source: Source, now: Duration) -> Int? {
    guard let end = used[source] ?? (used.count < Self.most ? nil : used[Source(nil)]) else { return nil }
    let wait = end + pause - now - Self.burst
    guard wait > .zero else { return nil }
    return Int(wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0)
  }

  /// Counts a refused post.
  mutating func noteRefused(_ source: Source, now: Duration) {
    let source = known(source, now: now)
    used[source] = max(used[source] ?? now, now) + pause
  }

  /// Counts a post that Apple signed.
  mutating func noteTaken(_ source: Source) {
    guard let end = used[source] else { return }
    used[source] = end - pause
  }

  /// The source itself, or the one that all share for whom there is no more room.
  private mutating func known(_ source: Source, now: Duration) -> Source {
    guard used[source] == nil, used.count >= Self.most else { return source }
    // At most once a second: a stranger with many addresses must not make each post walk through all of them.
    if now - lastTidying >= .seconds(1) {
      lastTidying = now
      used = used.filter { $0.value > now }
    }
    return used.count < Self.most ? source : Source(nil)
  }
}
