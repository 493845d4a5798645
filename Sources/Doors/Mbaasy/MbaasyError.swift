import AppStore
import Domain
import Gateway
import HTTPServer
import JSON

/// An error in the form of Mbaasy's contract: mistakes by the field that has them.
///
///     {"errors": {"receipt": ["is missing"], "ip_address": ["is not an IPv4 or IPv6 address"]}}
struct MbaasyError: Error, Equatable {
  /// What a mistake is about. The raw value is its name in the answer.
  enum Field: String, CaseIterable {
    case receipt
    case countryCode = "country_code"
    case identifierForVendor = "identifier_for_vendor"
    case userIdentifier = "user_identifier"
    case ipAddress = "ip_address"
    case metadata
    /// The header field `Authorization`.
    case authorization
    /// The request as a whole.
    case base
  }

  let status: Int
  /// The mistakes, in the order of the fields.
  let mistakes: [Mistake]
  /// The seconds after which another try makes sense.
  var retryAfter: Int?

  /// A mistake of one field. A field may have several.
  struct Mistake: Equatable {
    let field: Field
    let text: String
  }

  private init(_ status: Int, _ field: Field, _ text: String, retryAfter: Int? = nil) {
    self.init(status, [Mistake(field: field, text: text)], retryAfter: retryAfter)
  }

  private init(_ status: Int, _ mistakes: [Mistake], retryAfter: Int? = nil) {
    (self.status, self.mistakes, self.retryAfter) = (status, mistakes, retryAfter)
  }

  /// The payload is invalid.
  static func invalid(_ mistakes: [Mistake]) -> MbaasyError { MbaasyError(422, mistakes) }
  static func invalid(_ field: Field, _ text: String) -> MbaasyError { MbaasyError(422, field, text) }

  static func unauthorized(_ text: String) -> MbaasyError { MbaasyError(401, .authorization, text) }

  /// The fleet cannot take the receipt now, and has kept nothing that the client could rely on.
  static func unavailable(_ text: String) -> MbaasyError { MbaasyError(503, .base, text, retryAfter: 2) }

  /// The file of the app's publisher has a mistake.
  static let brokenPublisher = MbaasyError(
    503, .base, "the server cannot use the configuration of this app now; send the receipt again later",
    retryAfter: BrokenPublisher.retryAfter)

  /// The app's copies together send more than the publisher allows.
  static let tooFast = MbaasyError(429, .base, "comes too fast: see doors.mbaasy.maxRequestsPerSecond", retryAfter: 1)

  static let internalError = MbaasyError(500, .base, "an error of the server; see its log")

  static func tooLarge(_ limit: Int) -> MbaasyError { MbaasyError(413, .base, "is longer than \(limit) bytes") }

  /// The error as an HTTP answer.
  var response: HTTPServerResponse {
    var response = jsonResponse(status, written: body)
    if status == 401 { response.headers.append(("WWW-Authenticate", "Bearer realm=\"countersign\"")) }
    if let retryAfter { response.headers.append(("Retry-After", String(retryAfter))) }
    return response
  }

  private var body: [UInt8] {
    let fields = Field.allCases.filter { field in mistakes.contains { $0.field == field } }
    let texts = fields.map { field in
      (field.rawValue, JSONWriter.array(mistakes.filter { $0.field == field }.map { JSONWriter.text($0.text) }))
    }
    return JSONWriter.object { $0.member("errors", json: JSONWriter.object(texts)) }
  }
}
