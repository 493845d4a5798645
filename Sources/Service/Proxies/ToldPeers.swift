import HTTPServer

/// The peers that the log has named within the last minute.
///
/// Any client can make a role name it. So each peer is named once a minute, and no more than 32 are: otherwise one
/// client fills the log, or hides the peer that an operator must see.
public struct ToldPeers: Sendable {
  private var told: [AddressGroup: ContinuousClock.Instant] = [:]
  private static let most = 32

  /// Creates the peers of a role that has named nobody.
  public init() {}

  /// Whether the log may name a peer now; from then on, not again for a minute.
  public mutating func mayTell(_ peer: String, at now: ContinuousClock.Instant) -> Bool {
    told = told.filter { now - $0.value < .seconds(60) }
    let group = AddressGroup(peer)
    guard told[group] == nil, told.count < Self.most else { return false }
    told[group] = now
    return true
  }
}
