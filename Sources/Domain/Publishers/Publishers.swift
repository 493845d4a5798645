import Formats

/// All publishers of one folder, as of one reading.
public struct Publishers: Sendable {
  /// In the order of their ids.
  public let all: [Publisher]
  private let byId: [Int64: Publisher]
  private let tokens: CredentialIndex<(publisher: Publisher, token: PublisherToken)>
  private let issuers: [ExactText: [Publisher]]
  private let doors: [DoorRing: CredentialIndex<(publisher: Publisher, holder: String)>]

  /// The secrets among which a door looks for its caller's.
  private struct DoorRing: Hashable {
    let door: Door
    let ring: [ExactText]
  }

  /// The publishers whose files name webhook endpoints: a commit owes each event of theirs to these endpoints.
  public var withWebhooks: Set<Int64> { Set(all.lazy.filter(\.hasWebhooks).map(\.id)) }

  /// Creates the set; ids are unique, and the hashes of tokens and keys have `SHA256.size` bytes.
  public init(_ all: [Publisher]) {
    let all = all.sorted { $0.id < $1.id }
    self.all = all
    byId = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
    tokens = CredentialIndex(
      all.flatMap { publisher in
        publisher.tokens.map { (hash: $0.hash, holder: (publisher: publisher, token: $0)) }
      })
    issuers = Dictionary(
      all.compactMap { publisher in publisher.customerTokens?.issuer.map { ($0.exact, [publisher]) } },
      uniquingKeysWith: +)
    let credentials = all.flatMap { publisher in
      publisher.doors.all.flatMap { door in
        door.credentials.map { (door: door.id, publisher: publisher, credential: $0) }
      }
    }
    doors = Dictionary(grouping: credentials) { DoorRing(door: $0.door, ring: $0.credential.ring.map(\.exact)) }
      .mapValues { held in
        CredentialIndex(
          held.map { (hash: $0.credential.hash, holder: (publisher: $0.publisher, holder: $0.credential.holder)) })
      }
  }

  /// Returns the publisher with an id.
  public subscript(id: Int64) -> Publisher? { byId[id] }

  /// Returns the publisher and its token that has this SHA-256. The time does not depend on the token.
  ///
  /// - Precondition: the hash has `SHA256.size` bytes.
  public func holder(ofTokenHash hash: [UInt8]) -> (publisher: Publisher, token: PublisherToken)? {
    tokens.holder(of: hash)
  }

  /// Returns the publisher whose customers' tokens come from this issuer, for one of these audiences; `nil` if none
  /// has them, or more than one.
  public func holder(ofIssuer issuer: String, audiences: [String]) -> Publisher? {
    let found = (issuers[issuer.exact] ?? []).filter { $0.customerTokens?.admits(audiences: audiences) == true }
    return found.count == 1 ? found[0] : nil
  }

  /// Returns the publisher that has a secret with this SHA-256 at a door, and what the secret stands for.
  ///
  /// The time does not depend on the secret. It may depend on the ring.
  ///
  /// - Parameters:
  ///   - hash: SHA-256 of the secret, `SHA256.size` bytes.
  ///   - ring: the secrets to look among; ``DoorCredential/ring``.
  public func holder(
    ofHash hash: [UInt8], at door: Door, ring: [String] = []
  ) -> (publisher: Publisher, holder: String)? {
    doors[DoorRing(door: door, ring: ring.map(\.exact))]?.holder(of: hash)
  }
}

extension Publisher {
  /// Whether the file names webhook endpoints.
  var hasWebhooks: Bool { !webhooks.isEmpty }

  /// As ``Publishers/withWebhooks``, for a commit about this publisher alone.
  public var withWebhooks: Set<Int64> { hasWebhooks ? [id] : [] }
}
