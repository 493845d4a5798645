/// A pace for each address, and one of twice the rate for the 48 bits around an IPv6 address.
///
/// For example, whoever has 2001:db8:1::/48 has 65,536 networks of 64 bits, and may use the pace of two.
struct NetworkPace {
  private var addresses: KeyedPace<NotificationPace.Source>
  private var networks: KeyedPace<NotificationPace.Source>
  private let pause: Duration

  /// The most keys that are remembered, of addresses or of networks.
  var count: Int { max(addresses.count, networks.count) }

  /// - Parameter sharesTheRest: see `KeyedPace`.
  init(pause: Duration, burst: Duration, sharesTheRest: Bool = true) {
    self.pause = pause
    addresses = KeyedPace(burst: burst, sharesTheRest: sharesTheRest)
    networks = KeyedPace(burst: burst, sharesTheRest: sharesTheRest)
  }

  /// How long a source waits until it may do one more thing; zero or less if it may now.
  func wait(of source: NotificationPace.Source, now: Duration) -> Duration {
    let wait = addresses.wait(of: source, for: pause, now: now)
    return source.wide == source ? wait : max(wait, networks.wait(of: source.wide, for: pause / 2, now: now))
  }

  /// Counts what a source did.
  ///
  /// - Parameter units: 1 to a million.
  mutating func note(_ source: NotificationPace.Source, _ units: Int = 1, now: Duration) {
    addresses.note(source, pause * units, now: now)
    if source.wide != source { networks.note(source.wide, pause / 2 * units, now: now) }
  }

  /// Takes back one thing that a source did.
  mutating func giveBack(_ source: NotificationPace.Source) {
    addresses.giveBack(source, pause)
    if source.wide != source { networks.giveBack(source.wide, pause / 2) }
  }
}
