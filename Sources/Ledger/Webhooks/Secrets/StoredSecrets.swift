import Crypto
import Domain
import FoundationEssentials
import JSON

/// What a row of `webhook_endpoints` keeps secret: the keys that sign, and the hash of the key that was put last.
///
/// With keys for the ledger, one sealed text holds all of it. So no part of it can be exchanged for a part of another
/// row, nor an old key for a new one. Without keys, and in rows from before, the columns hold plain JSON and the hash.
struct StoredSecrets: Equatable {
  var secrets: [WebhookEndpoint.Secret]
  /// A hash of the key that `PUT /3.1/webhook_subscriptions/{topic}` gave last; `nil` if it never gave one.
  var putKey: String?

  /// The columns `secrets`, `secrets_key` and `put_key`.
  struct Columns: Equatable {
    var secrets: [UInt8]
    /// The id of the key that sealed; `nil` for plain JSON.
    var keyId: String?
    var putKey: String?
  }

  /// The name of a row, which the seal authenticates. No two rows have the same, since an id has no NUL.
  static func place(_ publisher: PublisherId, _ endpoint: EndpointId) -> [UInt8] {
    Array("webhook_endpoints.secrets\0\(publisher)\0\(endpoint)".utf8)
  }

  /// Writes the columns of a row.
  func columns(_ publisher: PublisherId, _ endpoint: EndpointId, _ keys: SealingKeys) throws(CryptoError) -> Columns {
    let sealed = try keys.seal(Self.json(Sealed(secrets: stored, putKey: putKey)), for: Self.place(publisher, endpoint))
    guard let sealed else { return Columns(secrets: Self.json(stored), putKey: putKey) }
    return Columns(secrets: sealed.bytes, keyId: sealed.keyId)
  }

  private init(_ stored: [Secret], putKey: String?) throws(Unreadable) {
    secrets = []
    for secret in stored {
      guard let key = Base64.decode(secret.key) else { throw .form }
      secrets.append(WebhookEndpoint.Secret(key: key, expiresAt: secret.expiresAt))
    }
    self.putKey = putKey
  }

  init(secrets: [WebhookEndpoint.Secret], putKey: String?) {
    self.secrets = secrets
    self.putKey = putKey
  }

  /// Why columns cannot be read.
  enum Unreadable: Error {
    case form
    case defect(WebhookEndpoint.SecretsDefect)
  }

  /// Reads the columns of a row.
  ///
  /// - Parameter refusesPlain: whether plain text is a defect. Otherwise, somebody who may write to the table could put
  ///   a key of their own there, without a seal.
  init(
    _ columns: Columns, _ publisher: PublisherId, _ endpoint: EndpointId, _ keys: SealingKeys,
    refusesPlain: Bool = false
  ) throws(Unreadable) {
    guard let keyId = columns.keyId else {
      if refusesPlain { throw .defect(.init(.plainText, keyId: nil)) }
      guard let stored: [Secret] = try? JSONText(columns.secrets, limits: .own).decoded() else { throw .form }
      try self.init(stored, putKey: columns.putKey)
      return
    }
    let text: [UInt8]
    do throws(SealingKeys.Refusal) {
      text = try keys.open(.init(keyId: keyId, bytes: columns.secrets), for: Self.place(publisher, endpoint))
    } catch {
      throw .defect(.init(error == .missingKey ? .missingKey : .notAuthentic, keyId: keyId))
    }
    guard let sealed: Sealed = try? JSONText(text, limits: .own).decoded() else { throw .form }
    try self.init(sealed.secrets, putKey: sealed.putKey)
  }

  private var stored: [Secret] { secrets.map { Secret(key: Base64.encode($0.key), expiresAt: $0.expiresAt) } }

  private static func json(_ value: some Encodable) -> [UInt8] {
    // The encoder gets only texts and whole numbers, so it cannot fail.
    (try? JSONEncoder().encode(value)).map { Array($0) } ?? Array("[]".utf8)
  }

  private struct Secret: Codable {
    let key: String
    let expiresAt: Int64?
  }

  private struct Sealed: Codable {
    let secrets: [Secret]
    let putKey: String?
  }
}
