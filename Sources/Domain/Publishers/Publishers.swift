import Formats

/// All publishers of one folder, as of one reading.
public struct Publishers: Sendable {
  /// In the order of their ids.
  public let all: [Publisher]
  private let byId: [Int64: Publisher]
  private let tokens: CredentialIndex<(publisher: Publisher, token: PublisherToken)>
  private let issuers: [ExactText: [Publisher]]
  private let mbaasyTokens: CredentialIndex<(publisher: Publisher, bundleId: String)>
  private let iapticApps: [ExactText: IapticApp]

  private struct IapticApp {
    let apiKeys: CredentialIndex<Publisher>
    let secretKeys: CredentialIndex<Publisher>
  }

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
    mbaasyTokens = CredentialIndex(
      all.flatMap { publisher in
        (publisher.doors.mbaasy?.clientTokens ?? []).map {
          (hash: $0.hash, holder: (publisher: publisher, bundleId: $0.bundleId))
        }
      })
    let apps = all.compactMap { publisher in
      publisher.doors.iaptic.map { door in
        let app = IapticApp(
          apiKeys: CredentialIndex(door.apiKeyHashes.map { (hash: $0, holder: publisher) }),
          secretKeys: CredentialIndex(door.secretKeyHashes.map { (hash: $0, holder: publisher) }))
        return (door.appName.exact, app)
      }
    }
    iapticApps = Dictionary(apps) { first, _ in first }
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

  /// Returns the publisher that has this name of an app and a key with this SHA-256 at iaptic's door.
  ///
  /// The time does not depend on the key. It may depend on the name, which every copy of the app shows.
  ///
  /// - Precondition: the hash has `SHA256.size` bytes.
  public func holder(iapticAppName name: String, keyHash: [UInt8], isSecret: Bool) -> Publisher? {
    guard let app = iapticApps[name.exact] else { return nil }
    return (isSecret ? app.secretKeys : app.apiKeys).holder(of: keyHash)
  }

  /// Returns the publisher and the app that have a client token with this SHA-256 at Mbaasy's door. The time does not
  /// depend on the token.
  ///
  /// - Precondition: the hash has `SHA256.size` bytes.
  public func holder(ofMbaasyTokenHash hash: [UInt8]) -> (publisher: Publisher, bundleId: String)? {
    mbaasyTokens.holder(of: hash)
  }
}
