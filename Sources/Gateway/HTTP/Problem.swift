import Coordination
import Domain
import Formats
package import HTTPServer
import Ledger
import Postgres
import Redis

/// An error of the HTTP API: RFC 9457 problem details with the documented code and text as extra members.
package struct Problem: Error, Sendable, Equatable {
  package let status: Int
  /// The documented code, such as `SK2C0101`.
  package let code: String
  /// The documented text.
  package let message: String
  /// The exact mistake, for the developer who reads the answer.
  package var detail: String?
  /// The resource that the problem is about.
  package var instance: String?
  /// The seconds after which another try makes sense.
  package var retryAfter: Int?
  /// Further header fields, such as `Allow`.
  package var headers: [String: String] = [:]

  package init(
    _ status: Int, _ code: String, _ message: String, detail: String? = nil, instance: String? = nil,
    retryAfter: Int? = nil, headers: [String: String] = [:]
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.detail = detail
    self.instance = instance
    self.retryAfter = retryAfter
    self.headers = headers
  }

  // The documented errors.
  package static func invalidBody(_ detail: String) -> Problem {
    Problem(400, "REQ0001", "Invalid body", detail: detail)
  }
  static func invalidQuery(_ detail: String) -> Problem {
    Problem(400, "REQ0002", "Invalid query parameters", detail: detail)
  }
  package static func invalidPath(_ detail: String) -> Problem {
    Problem(400, "REQ0003", "Invalid path parameters", detail: detail)
  }
  static func invalidHeaders(_ detail: String) -> Problem { Problem(400, "REQ0004", "Invalid headers", detail: detail) }
  package static func notFound(_ detail: String) -> Problem {
    Problem(404, "REQ0100", "Entity not found", detail: detail)
  }
  static let noCustomer = notFound("The publisher has no such customer; PUT /customers/{customerId} creates one.")
  static func unknownPath(_ path: [String]) -> Problem {
    let shown = path.joined(separator: "/").prefix(100)
    return .notFound("The API has no path /\(shown). All of its paths are in docs/reference/openapi.yaml.")
  }
  static func unknownCustomer(_ id: CustomerId) -> Problem {
    Problem(
      422, "SK2C0100", "Unable to find customer",
      detail:
        "The customer \(id) is not known: PUT /customers/\(PercentCoding.encoded(id.text)) with the publisher's token, "
        + "then send the request again.")
  }
  package static let notActivated = Problem(500, "SK2C0004", "StoreKit2 integration not activated")
  static func locked(instance: String?) -> Problem {
    Problem(
      409, "SK2C0101", "The resource is temporarily locked due to a concurrent request.", instance: instance,
      retryAfter: instance == nil ? nil : 1)
  }

  static let internalError = Problem(500, "S0001", "Internal Server Error")

  // Errors that HTTP requires. The contract does not mention them.
  static let missingCredential = Problem(
    401, "AUTH0001", "Missing required credential",
    detail: "Send X-Publisher-Token, or Authorization: Bearer with a customer's token.",
    headers: ["WWW-Authenticate": "Bearer realm=\"countersign\""])
  static func invalidCredential(_ detail: String) -> Problem {
    Problem(
      401, "AUTH0002", "Invalid credential", detail: detail,
      headers: ["WWW-Authenticate": "Bearer realm=\"countersign\", error=\"invalid_token\""])
  }
  package static func forbidden(_ detail: String) -> Problem {
    Problem(403, "AUTH0003", "The credential does not allow this", detail: detail)
  }
  /// RFC 6750, section 3.1.
  static func missingScope(_ scope: TokenScope, of token: String) -> Problem {
    Problem(
      403, "AUTH0004", "The token lacks the scope \(scope.rawValue)",
      detail: "The publisher's file gives the token \"\(token)\" other scopes. Send a token with this one.",
      headers: [
        "WWW-Authenticate": "Bearer realm=\"countersign\", error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""
      ])
  }
  /// The keys of a publisher's key set are not there, or are being fetched again.
  static let keysNotKnown = unavailable(
    "The keys of the publisher's customer tokens (customerTokens.jwks) are being fetched; send the request again.")
  /// The file of the caller's publisher has a mistake, or may be the one that has it.
  package static let brokenPublisher = Problem(
    503, "PUB0001", "Publisher not available",
    detail: "The server cannot use the publisher's file now. Nothing was kept; send the request again later.",
    retryAfter: BrokenPublisher.retryAfter)
  static func methodNotAllowed(_ allowed: [String]) -> Problem {
    Problem(405, "REQ0405", "Method not allowed", headers: ["Allow": allowed.joined(separator: ", ")])
  }
  static func conflict(_ detail: String) -> Problem { Problem(409, "REQ0409", "Conflict", detail: detail) }
  package static func tooLarge(_ limit: Int) -> Problem {
    Problem(413, "REQ0413", "Body too large", detail: "The limit is \(limit) bytes.")
  }
  static let unsupportedMediaType = Problem(
    415, "REQ0415", "Unsupported media type", detail: "Send Content-Type: application/json.")
  package static func tooManyRequests(_ detail: String, retryAfter: Int) -> Problem {
    Problem(429, "REQ0429", "Too many requests", detail: detail, retryAfter: retryAfter)
  }
  package static func unavailable(_ detail: String) -> Problem {
    Problem(503, "S0503", "Service Unavailable", detail: detail, retryAfter: 2)
  }

  /// Turns a failure of the store into an answer to the client.
  ///
  /// While Redis is unreachable or busy, the client must come again. An error in an answer of Redis is our own mistake.
  static func store(_ error: any Error) -> Problem {
    if let error = error as? PostgresError { return .ledger(error) }
    if error is UnreadableRecord {
      return .unavailable("A newer version of the server keeps this record; another one will answer.")
    }
    if error is UnreadableSecrets || error is MissingKeysFile {
      return .unavailable("This server cannot read or store the secrets of endpoints; its log says why.")
    }
    if let error = error as? RedisError, error.isNewerRecord {
      return .unavailable("A newer version of the server keeps this record; another one will answer.")
    }
    if let error = error as? RedisError, error.code == .reply, error.refusal == nil {
      let passing = ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"]
      if !passing.contains(where: error.cause.hasPrefix) { return .internalError }
    }
    guard let error = error as? RedisError, error.provesAbsence else {
      return .unavailable("The store did not answer. The request may have taken effect all the same.")
    }
    return .unavailable("The store cannot be used now.")
  }

  /// The problem as an HTTP answer.
  package var response: HTTPServerResponse {
    let document = Document(
      type: "about:blank", title: message, status: status, detail: detail, instance: instance, code: code,
      message: message)
    var response = jsonResponse(status, document, type: "application/problem+json")
    if let retryAfter { response.headers.append(("Retry-After", String(retryAfter))) }
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) { response.headers.append((name, value)) }
    return response
  }

  private struct Document: Encodable {
    let type: String
    let title: String
    let status: Int
    let detail: String?
    let instance: String?
    let code: String
    let message: String
  }
}
