import AppStore
import Domain
import Formats
import Gateway
package import JSON

/// A request to `/v1/validate`, as the Cordova plugin and the Swift client send it.
///
/// Both send much that only serves statistics, such as prices and the device. The door reads past it.
struct IapticRequest: Equatable {
  /// What Apple signed.
  let evidence: EvidenceText
  let user: IapticUser

  /// Whether the client reads `code` of an error as a text. A body that nobody can read is the plugin's.
  static func hasTextCode(_ body: JSONValue?) -> Bool {
    guard case .string(let plugin)? = body?.member("device")?.member("plugin") else { return false }
    return plugin.utf8.starts(with: "iaptic-storekit2".utf8)
  }

  /// - Throws: ``IapticError``.
  init(_ body: JSONValue) throws(IapticError) {
    guard case .object = body else { throw .invalidPayload("expected a JSON object") }
    for name in ["id", "type"] { _ = try Self.text(body, name, .name) }
    guard let transaction = body.member("transaction"), case .object = transaction else {
      throw .invalidPayload("transaction: expected an object")
    }
    evidence = try Self.evidence(transaction)
    _ = try Self.text(body.member("device") ?? .null, "plugin", .name, at: "device.")
    let more = body.member("additionalData") ?? .null
    switch more {
    case .object, .null: break
    default: throw .invalidPayload("additionalData: expected an object")
    }
    user = IapticUser(
      name: try Self.user(more),
      token: try Self.text(more, "obfuscatedUsername", .name, at: "additionalData.").flatMap(Self.token))
  }

  private static func evidence(_ transaction: JSONValue) throws(IapticError) -> EvidenceText {
    let place = "transaction."
    _ = try text(transaction, "id", .name, at: place)
    switch try text(transaction, "type", .name, at: place) {
    case "ios-appstore"?:
      guard let receipt = try text(transaction, "appStoreReceipt", .receipt, at: place), !receipt.isEmpty else {
        throw .needMoreData("transaction.appStoreReceipt: is missing")
      }
      return .receipt(receipt)
    case "apple-sk2"?:
      guard let jws = try text(transaction, "jwsRepresentation", .signedTransaction, at: place), !jws.isEmpty else {
        throw .needMoreData("transaction.jwsRepresentation: is missing")
      }
      return .signedTransaction(jws)
    case nil: throw .invalidPayload("transaction.type: is missing")
    case let type?:
      throw .invalidPayload(
        "transaction.type: is \"\(type.prefix(40))\"; this server verifies ios-appstore and apple-sk2")
    }
  }

  /// The plugin sends a number if the app's user is one.
  private static func user(_ more: JSONValue) throws(IapticError) -> String? {
    let name = "applicationUsername"
    switch more.member(name) {
    case .integer(let number)?: return String(number)
    case nil, .null?, .string?:
      return try text(more, name, .ruled, at: "additionalData.").flatMap { $0.isEmpty ? nil : $0 }
    default: throw .invalidPayload("additionalData.\(name): expected a text or a whole number")
    }
  }

  /// A text of the request. As in ``RequestObject``, there is none without a limit.
  private static func text(
    _ value: JSONValue, _ name: String, _ limit: TextLimit, at place: String = ""
  ) throws(IapticError) -> String? {
    switch value.member(name) {
    case nil, .null?: return nil
    case .string(let text)?:
      guard limit.admits(text) else { throw .invalidPayload("\(place)\(name): expected \(limit)") }
      return text
    default: throw .invalidPayload("\(place)\(name): expected a text")
    }
  }

  /// The UUID behind an obfuscated name. The plugin makes it of the MD5 of the name, and may send the digest itself.
  private static func token(_ text: String) -> AppAccountToken? {
    if let uuid = AppAccountToken.canonical(text) { return uuid }
    let digest = Array(text.lowercased().utf8)
    guard digest.count == 32, digest.allSatisfy(\.isLowercaseHexDigit) else { return nil }
    func part(_ range: Range<Int>) -> String { String(decoding: digest[range], as: UTF8.self) }
    return "\(part(0..<8))-\(part(8..<12))-3\(part(13..<16))-8\(part(17..<20))-\(part(20..<32))"
  }
}

/// A body as far as anybody can read it.
struct IapticBody {
  /// Whether the client reads `code` of an error as a text.
  let hasTextCode: Bool
  let request: Result<IapticRequest, IapticError>

  init(_ bytes: [UInt8]) {
    do {
      let body: JSONValue = try JSONText(bytes, limits: .validation).decoded()
      hasTextCode = IapticRequest.hasTextCode(body)
      request = Result { () throws(IapticError) in try IapticRequest(body) }
    } catch {
      let excess = (error as? JSONSyntaxError)?.excess
      hasTextCode = false
      request = .failure(.invalidPayload(excess.map { "The body has \($0)." } ?? "The body is not JSON."))
    }
  }
}

/// The user whom a request names.
struct IapticUser: Equatable {
  /// `applicationUsername`; `nil` if the app knows no user.
  let name: String?
  /// The UUID that the app gave to Apple as `appAccountToken`; `nil` if the app obfuscates otherwise, or not at all.
  let token: AppAccountToken?

  /// Whether Apple signed that the transaction is another user's.
  func isContradicted(by evidence: LocalEvidence) -> Bool {
    guard let token, let signed = evidence.appAccountToken else { return false }
    return signed != token
  }

  /// Whether Apple signed that the transaction is this user's.
  func isProven(by evidence: LocalEvidence) -> Bool {
    guard let token, let signed = evidence.appAccountToken else { return false }
    return signed == token
  }
}

extension LocalEvidence {
  /// The `appAccountToken` of a signed transaction; `nil` if it names nobody. A receipt has none.
  fileprivate var appAccountToken: AppAccountToken? {
    guard case .signedTransaction(let payload, _) = kind else { return nil }
    return payload.appAccountToken.flatMap(AppAccountToken.canonical).flatMap { $0.isNil ? nil : $0 }
  }
}

extension JSONValue {
  /// A member of an object; `nil` for any other value.
  fileprivate func member(_ name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }
}

extension JSONLimits {
  /// The plugin sends the app's whole catalog: about 50 values and names for each product and its offers.
  package static let validation = JSONLimits(depth: 16, members: 256, elements: 1000, values: 10_000, nameBytes: 64)
}
