import Formats

/// All publishers of one folder, as of one reading.
public struct Publishers: Sendable {
  /// Those in use, in the order of their ids.
  public let all: [Publisher]
  /// The files that do not count, in the order of their names.
  public let broken: [BrokenPublisher]
  /// Whom their events are told.
  public let audience: EventAudience
  private let files: [PublisherId: String]
  private let byId: [PublisherId: Publisher]
  private let tokens: CredentialIndex<TokenHolder>
  private let issuers: [TokenIssuer: [Publisher]]
  private let doors: [DoorRing: CredentialIndex<SecretHolder>]
  private let absent: AbsentPublishers

  /// Creates the set; ids are unique, and the hashes of tokens and keys have `SHA256.size` bytes.
  ///
  /// - Parameters:
  ///   - files: the names of their files, by id.
  ///   - broken: the files that do not count.
  public init(_ all: [Publisher], files: [PublisherId: String] = [:], broken: [BrokenPublisher] = []) {
    let all = all.sorted { $0.id < $1.id }
    self.all = all
    self.files = files
    self.broken = broken.sorted { $0.file < $1.file }
    audience = EventAudience(all)
    byId = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
    tokens = CredentialIndex(
      all.flatMap { publisher in
        publisher.tokens.map { (hash: $0.hash, holder: TokenHolder(publisher: publisher, token: $0)) }
      })
    issuers = Dictionary(
      all.compactMap { publisher in publisher.customerTokens?.issuer.map { ($0, [publisher]) } },
      uniquingKeysWith: +)
    doors = Dictionary(grouping: all.flatMap(\.doorCredentials)) { DoorRing($0.door, $0.credential.ring) }
      .mapValues { held in
        CredentialIndex(
          held.map {
            (hash: $0.credential.hash, holder: SecretHolder(publisher: $0.publisher, holder: $0.credential.holder))
          })
      }
    absent = AbsentPublishers(broken.filter { !$0.isKept })
  }

  /// Returns the publisher in use with an id.
  public subscript(id: PublisherId) -> Publisher? { byId[id] }

  /// Returns the name of the file of a publisher in use.
  public func file(of id: PublisherId) -> String? { files[id] }

  /// Returns the publisher with an id. While nobody knows whose a file is, an id that no publisher has may be its.
  public func lookUp(_ id: PublisherId) -> PublisherLookUp<Publisher> {
    if let publisher = byId[id] { return .found(publisher) }
    return absent.mayHave(id) ? .broken : .unknown
  }

  /// Since when the file of an absent publisher has a mistake, in milliseconds since 1970; `nil` if none may be its.
  public func brokenSince(_ id: PublisherId) -> Int64? {
    broken.lazy.filter { !$0.isKept && ($0.id ?? id) == id }.map(\.since).min()
  }

  /// Returns the publisher and its token that has this SHA-256.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Precondition: the hash has `SHA256.size` bytes.
  public func holder(
    ofTokenHash hash: [UInt8], now: Int64
  ) -> PublisherLookUp<TokenHolder> {
    if let holder = tokens.holder(of: hash) { return .found(holder) }
    return absent.mayHave(tokenHash: hash, now: now) ? .broken : .unknown
  }

  /// Returns the publisher whose customers' tokens come from this issuer, for one of these audiences. If several have
  /// them, it finds none.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func holder(ofIssuer issuer: TokenIssuer, audiences: [TokenAudience], now: Int64) -> PublisherLookUp<Publisher>
  {
    let found = (issuers[issuer] ?? []).filter { $0.customerTokens?.admits(audiences: audiences) == true }
    if found.count == 1 { return .found(found[0]) }
    return found.isEmpty && absent.mayHave(issuer: issuer, audiences, now: now) ? .broken : .unknown
  }

  /// Returns the publisher that has a secret with this SHA-256 at a door, and what the secret stands for.
  ///
  /// - Parameters:
  ///   - hash: SHA-256 of the secret, `SHA256.size` bytes.
  ///   - ring: the secrets to look among; ``DoorCredential/ring``.
  ///   - now: milliseconds since 1970.
  public func holder(
    ofHash hash: [UInt8], at door: Door, ring: [String] = [], now: Int64
  ) -> PublisherLookUp<SecretHolder> {
    let ring = DoorRing(door, ring)
    if let holder = doors[ring]?.holder(of: hash) { return .found(holder) }
    return absent.mayHave(hash, in: ring, now: now) ? .broken : .unknown
  }

  /// A sentence about the files that do not count; `nil` if all of them do.
  public var trouble: String? {
    guard !broken.isEmpty else { return nil }
    let names = broken.prefix(10).map { "\($0.file) (\($0.isKept ? "stays as it was" : "absent"))" }
    let rest = broken.count > 10 ? " and \(broken.count - 10) more" : ""
    return "mistakes in " + names.joined(separator: ", ") + rest
  }

  /// Whether a publisher is absent. An app that no publisher in use has may be its.
  public var hasAbsent: Bool { broken.contains { !$0.isKept } }

  /// Whether an absent publisher has an app, as far as its file can be read.
  public func absentLists(bundleId: BundleId) -> Bool { absent.bundleIds.contains(bundleId) }
}

/// The secrets among which a door looks for its caller's.
struct DoorRing: Hashable {
  let door: Door
  let ring: [ExactText]

  init(_ door: Door, _ ring: [String]) { (self.door, self.ring) = (door, ring.map(ExactText.init(_:))) }
}

extension Publisher {
  /// The secrets of the callers of its doors.
  var doorCredentials: [(door: Door, publisher: Publisher, credential: DoorCredential)] {
    doors.all.flatMap { door in door.credentials.map { (door: door.id, publisher: self, credential: $0) } }
  }
}
