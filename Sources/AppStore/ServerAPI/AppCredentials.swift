public import Crypto
public import Domain

/// The credentials of one app: its identity and the In-App Purchase key that proves it to the API.
///
/// The team makes the key under Users and Access, Integrations, In-App Purchase. Apple answers 401 to a key of the App
/// Store Connect API.
public struct AppCredentials: Sendable, CustomStringConvertible {
  /// The app's bundle id.
  public let bundleId: BundleId
  /// The issuer id of the App Store Connect team, a UUID.
  public let issuerId: IssuerId
  /// The id of the key.
  public let keyId: KeyId
  /// The key.
  public let key: P256PrivateKey

  /// Creates credentials.
  public init(bundleId: BundleId, issuerId: IssuerId, keyId: KeyId, key: P256PrivateKey) {
    self.bundleId = bundleId
    self.issuerId = issuerId
    self.keyId = keyId
    self.key = key
  }

  /// Those of a publisher's app.
  public init(_ app: Publisher.App) {
    self.init(bundleId: app.bundleId, issuerId: app.issuerId, keyId: app.keyId, key: app.privateKey)
  }

  /// Everything but the key.
  public var description: String { "\(bundleId) (issuer \(issuerId), key \(keyId))" }
}
