import Formats

/// What is known of the publishers that a role cannot serve, because their files have mistakes: enough to tell their
/// callers from strangers.
struct AbsentPublishers: Sendable {
  private var ids: Set<PublisherId> = []
  /// Whether a file tells no id.
  private var hidesId = false
  /// Until when a credential that nobody has may be one of theirs, in milliseconds since 1970.
  private var doubtUntil = Int64.min
  private var tokens: Set<[UInt8]> = []
  private var policies: [Publisher.CustomerTokenPolicy] = []
  private var doors: [DoorRing: Set<[UInt8]>] = [:]
  /// The apps of the files that can be read.
  private(set) var bundleIds: Set<BundleId> = []

  init(_ broken: [BrokenPublisher]) {
    for publisher in broken {
      if let id = publisher.id { ids.insert(id) } else { hidesId = true }
      if publisher.hidesCallers { doubtUntil = max(doubtUntil, publisher.since.adding(BrokenPublisher.doubt)) }
      bundleIds.formUnion(publisher.bundleIds)
      guard let remains = publisher.remains else { continue }
      tokens.formUnion(remains.tokens.map(\.hash))
      if let policy = remains.customerTokens { policies.append(policy) }
      for held in remains.doorCredentials {
        doors[DoorRing(held.door, held.credential.ring), default: []].insert(held.credential.hash)
      }
    }
  }

  func mayHave(_ id: PublisherId) -> Bool { hidesId || ids.contains(id) }

  func mayHave(tokenHash hash: [UInt8], now: Int64) -> Bool { tokens.contains(hash) || now < doubtUntil }

  func mayHave(issuer: TokenIssuer, _ audiences: [TokenAudience], now: Int64) -> Bool {
    now < doubtUntil
      || policies.contains { $0.issuer == issuer && $0.admits(audiences: audiences) }
  }

  func mayHave(_ hash: [UInt8], in ring: DoorRing, now: Int64) -> Bool {
    doors[ring]?.contains(hash) == true || now < doubtUntil
  }
}
