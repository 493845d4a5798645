import Crypto
import Formats
import Glibc
import JSON

/// A compact JWS, taken apart. Only its form has been checked.
struct JSONWebSignature: Sendable {
  /// The parser refuses a longer text unread. A notification with its nested texts has about 20 KiB.
  static let maxLength = 2 << 20
  /// The most bytes of the header, as it is signed. Apple's has 4 KB, nearly all of it the three certificates.
  static let maxHeaderLength = 32 << 10

  /// The fields of the header. ``header()`` only returns a header in the form that Apple writes.
  struct Header: Decodable {
    private var alg: String?
    private var x5c: [String]?
    private var crit: JSONValue?

    /// The certificates, base64.
    var certificates: [String] { x5c ?? [] }

    fileprivate func check() throws(Rejection) {
      guard alg == "ES256" else {
        // Anybody may write anything there, and its description costs more than the rest of the header.
        let name = alg.map { String($0.unicodeScalars.prefix(40)).debugDescription }
        throw Rejection(.algorithmNotAllowed, "the algorithm is \(name ?? "missing"), not ES256")
      }
      // RFC 7515, section 4.1.11: an extension that the reader must understand and does not understand makes the
      // signature invalid.
      guard crit == nil else { throw Rejection(.algorithmNotAllowed, "the header has critical extensions") }
      guard x5c != nil else { throw Rejection(.malformed, "the header has no x5c") }
    }
  }

  /// The header as Apple signed it, with the point behind it. All texts with one chain have the same header.
  let signedHeader: ArraySlice<UInt8>
  /// The payload as Apple signed it.
  let signedPayload: ArraySlice<UInt8>
  /// The payload, a JSON text.
  let payload: [UInt8]
  /// r‖s.
  let signature: [UInt8]

  /// Takes a text apart, and does not decode its header.
  init(_ text: String) throws(Rejection) {
    guard text.utf8.count <= Self.maxLength else {
      throw Rejection(.malformed, "longer than \(Self.maxLength) bytes")
    }
    let bytes = Array(text.utf8)
    guard let (first, last) = Self.twoPoints(in: bytes) else {
      throw Rejection(.malformed, "there are not three parts with points between them")
    }
    guard let payload = Base64URL.decode(bytes[(first + 1)..<last]),
      let signature = Base64URL.decode(bytes[(last + 1)...])
    else { throw Self.notBase64URL }
    signedHeader = bytes[...first]
    signedPayload = bytes[(first + 1)..<last]
    self.payload = payload
    self.signature = signature
  }

  /// The positions of the two points; `nil` when there are more or fewer.
  private static func twoPoints(in bytes: [UInt8]) -> (Int, Int)? {
    bytes.withUnsafeBytes { bytes -> (Int, Int)? in
      func next(from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
          let found = memchr(base + start, Int32(Self.point), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
      }
      guard let first = next(from: 0), let last = next(from: first + 1), next(from: last + 1) == nil else { return nil }
      return (first, last)
    }
  }

  private static let point = UInt8(ascii: ".")
  private static let notBase64URL = Rejection(.malformed, "a part is not base64url without padding")

  /// Reads the header, and refuses every header that does not have the form that Apple writes.
  func header() throws(Rejection) -> Header {
    guard signedHeader.count <= Self.maxHeaderLength else {
      throw Rejection(.malformed, "the header is longer than \(Self.maxHeaderLength) bytes")
    }
    guard let json = Base64URL.decode(signedHeader.dropLast()) else { throw Self.notBase64URL }
    let header: Header
    do {
      header = try JSONText(json, limits: .jwsHeader).decoded(as: Header.self)
    } catch {
      // Too many certificates are refused by their number, before any of them is decoded.
      if case .elements(let most)? = (error as? JSONSyntaxError)?.excess {
        throw Rejection(.chainLengthInvalid, "a list in the header has more than \(most) entries; Apple's x5c has 3")
      }
      throw Rejection(.malformed, "the header is not a JSON object with the expected types, each member once")
    }
    try header.check()
    return header
  }

  /// Returns the names of the payload's top-level fields.
  func fields() throws(Rejection) -> Set<ExactText> {
    guard let keys = try? JSONText(payload, limits: .jwsPayload).keys else {
      throw Rejection(.malformed, "the payload is not a JSON object")
    }
    return Set(keys)
  }

  /// Reads the payload.
  func decoded<Payload: SignedPayload>(as type: Payload.Type) throws(Rejection) -> Payload {
    do {
      return try Payload(JSONText(payload, limits: .jwsPayload))
    } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context) {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw Rejection(
        .malformed, path.isEmpty ? "the payload is not a JSON object" : "the field \(path) has the wrong type")
    } catch let error as JSONSyntaxError {
      let repeated = error.repeatedMember.map { "the payload has the member \($0.debugDescription) twice" }
      let excess = error.excess.map { "the payload has \($0)" }
      throw Rejection(.malformed, repeated ?? excess ?? "the payload is not JSON")
    } catch {
      throw Rejection(.malformed, "the payload does not have the expected form")
    }
  }
}
