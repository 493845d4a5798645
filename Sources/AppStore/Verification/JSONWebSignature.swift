import Crypto
import FoundationEssentials

/// A compact JWS taken apart; nothing in it is checked except its form.
struct JSONWebSignature: Sendable {
  /// Longer texts are refused unread. A notification with its nested texts is about 20 KiB.
  static let maxLength = 1 << 20

  /// The certificates of the header, base64.
  let certificates: [String]
  /// The payload, a JSON text.
  let payload: [UInt8]
  /// r‖s.
  let signature: [UInt8]
  /// Header and payload as they were signed.
  let signedBytes: [UInt8]

  private struct Header: Decodable {
    var alg: String?
    var x5c: [String]?
    var crit: JSONValue?
  }

  /// Takes a text apart and refuses every header but the one that Apple writes.
  init(_ text: String) throws(Rejection) {
    guard text.utf8.count <= Self.maxLength else {
      throw Rejection(.malformed, "longer than \(Self.maxLength) bytes")
    }
    let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw Rejection(.malformed, "\(parts.count) parts instead of 3") }
    guard let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { throw Rejection(.malformed, "a part is not base64url without padding") }
    guard let header = try? JSONDecoder().decode(Header.self, from: Data(header)) else {
      throw Rejection(.malformed, "the header is not a JSON object with the expected types")
    }
    guard header.alg == "ES256" else {
      throw Rejection(.algorithmNotAllowed, "the algorithm is \(header.alg?.debugDescription ?? "missing"), not ES256")
    }
    // RFC 7515 section 4.1.11: what must be understood and is not, makes the signature invalid.
    guard header.crit == nil else {
      throw Rejection(.algorithmNotAllowed, "the header has critical extensions")
    }
    guard let certificates = header.x5c else { throw Rejection(.malformed, "the header has no x5c") }
    self.certificates = certificates
    self.payload = payload
    self.signature = signature
    signedBytes = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
  }

  /// Returns the names of the payload's top-level fields.
  func fields() throws(Rejection) -> Set<String> {
    guard let fields = try? JSONDecoder().decode(FieldNames.self, from: Data(payload)) else {
      throw Rejection(.malformed, "the payload is not a JSON object")
    }
    return fields.names
  }

  /// Decodes the payload.
  func decoded<Payload: Decodable>(as type: Payload.Type) throws(Rejection) -> Payload {
    do {
      return try JSONDecoder().decode(type, from: Data(payload))
    } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw Rejection(.malformed, path.isEmpty ? "the payload is not JSON" : "the field \(path) has the wrong type")
    } catch {
      throw Rejection(.malformed, "the payload does not have the expected form")
    }
  }

  private struct FieldNames: Decodable {
    let names: Set<String>

    struct AnyKey: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      names = Set(try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue))
    }
  }
}
