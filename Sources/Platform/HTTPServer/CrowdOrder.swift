/// Which connections of each network give way at once: worked out for all networks together, and then used up.
///
/// It is no harm if a connection that came later is missing: the others of its network go first then.
struct CrowdOrder {
  /// How long an order that is used up is not made again. While all connections of a network run, none can go, and a
  /// newcomer must not cost a look at all of them.
  static let pause = Duration.milliseconds(100)

  private let made: Duration
  /// The connections of each network. The last one goes first.
  private var ids: [AddressGroup: [Int]] = [:]

  /// - Parameter candidates: the connections that may go, with the network that holds each one's place.
  init(_ candidates: [(network: AddressGroup, candidate: EvictionOrder.Candidate)], at now: Duration) {
    made = now
    for (network, candidate) in candidates.sorted(by: { EvictionOrder.goes($1.candidate, before: $0.candidate) }) {
      ids[network, default: []].append(candidate.id)
    }
  }

  /// Whether the order is so old that another one may find more.
  func isOld(at now: Duration) -> Bool { now - made >= Self.pause }

  /// The connection of a network that goes first; `nil` if the order has none.
  ///
  /// - Parameter mayGo: whether a connection is there, and may still go. The order forgets the others.
  mutating func first(of network: AddressGroup, where mayGo: (Int) -> Bool) -> Int? {
    while let id = ids[network]?.last {
      if mayGo(id) { return id }
      ids[network]?.removeLast()
    }
    return nil
  }
}
