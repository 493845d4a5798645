import Domain
import Gateway
import HTTPServer
import JSON

/// An error of iaptic's API that reads purchases: a real HTTP status, and a word as `code`.
struct IapticReadError: Error, Equatable {
  let status: Int
  let code: String
  let message: String
  private var retryAfter = 2

  static func invalid(_ message: String) -> IapticReadError {
    IapticReadError(status: 400, code: "InvalidPayload", message: message)
  }
  static let wrongCredential = IapticReadError(
    status: 401, code: "InvalidPayload", message: "Error: appName and apiKey do not match")
  static let missingCredential = IapticReadError(
    status: 401, code: "InvalidPayload",
    message: "Error: Invalid credentials. Send Authorization: Basic with the app's name and its secret key.")
  static let brokenPublisher = IapticReadError(.brokenPublisher)
  static let unknownUser = IapticReadError(
    status: 404, code: "NotFound", message: "The publisher has no customer with this applicationUsername.")

  /// The error of a ledger that does not answer, or refuses, or of a credential that reads too often.
  init(_ problem: Problem) {
    status = problem.status
    code =
      switch problem.status {
      case 429: "TooManyRequests"
      case 503: "ServiceUnavailable"
      default: "InternalError"
      }
    message = problem.detail ?? problem.message
    retryAfter = problem.retryAfter ?? 2
  }

  init(status: Int, code: String, message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  var response: HTTPServerResponse {
    var response = jsonResponse(
      status,
      written: JSONWriter.object { answer in
        answer.member("ok", false)
        answer.member("status", Int64(status))
        answer.member("code", code)
        answer.member("message", message)
      })
    if status == 401 { response.headers.append(("WWW-Authenticate", "Basic realm=\"countersign\"")) }
    if status == 429 || status == 503 { response.headers.append(("Retry-After", String(retryAfter))) }
    return response
  }
}
