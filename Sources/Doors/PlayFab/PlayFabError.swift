import AppStore
import Domain
import Gateway
import HTTPServer
import JSON

/// An error in PlayFab's form: its name, its number and the HTTP status.
struct PlayFabError: Error, Equatable {
  /// The HTTP status; the body's `code` repeats it.
  let code: Int
  /// PlayFab's name of the error.
  let name: String
  /// PlayFab's number of the error.
  let number: Int64
  /// The mistake, for the developer who reads the answer.
  let message: String
  /// The mistakes of single members of the body.
  var details: [Detail] = []

  /// A mistake of one member of the body.
  struct Detail: Equatable {
    let member: String
    let message: String
  }

  private init(_ name: String, _ number: Int64, _ message: String, code: Int = 400) {
    self.code = code
    self.name = name
    self.number = number
    self.message = message
  }

  // MARK: The request

  static func invalidParams(_ member: String, _ message: String) -> PlayFabError {
    var error = PlayFabError("InvalidParams", 1000, "Invalid input parameters")
    error.details = [Detail(member: member, message: message)]
    return error
  }
  static let notAuthenticated = PlayFabError(
    "NotAuthenticated", 1074, "This API needs a session ticket: send X-Authorization with the customer's token.",
    code: 401)
  static func invalidSessionTicket(_ message: String) -> PlayFabError {
    PlayFabError("InvalidSessionTicket", 1100, message, code: 401)
  }
  static let invalidContentType = PlayFabError(
    "InvalidContentType", 1144, "Send Content-Type: application/json, and the body without Content-Encoding.")
  static func invalidJSON(_ message: String) -> PlayFabError { PlayFabError("InvalidJSONContent", 1200, message) }
  static func tooLarge(_ limit: Int) -> PlayFabError {
    PlayFabError("InvalidRequest", 1071, "The body has more than \(limit) bytes.", code: 413)
  }
  /// The error of a path without a method, or of another verb than POST.
  static func unknownMethod(_ problem: Problem) -> PlayFabError {
    PlayFabError("InvalidRequest", 1071, problem.detail ?? problem.message, code: problem.status)
  }
  static let closed = PlayFabError("NotAuthorized", 1089, "The publisher has not opened this API (doors.playfab).")
  static let notActivated = PlayFabError("TitleNotActivated", 1035, "The publisher has no apps yet.")
  static let accountNotFound = PlayFabError(
    "AccountNotFound", 1001, "The publisher has no such customer: PUT /customers/{customerId} creates one.")

  // MARK: The receipt

  static func invalidReceipt(_ message: String) -> PlayFabError { PlayFabError("InvalidReceipt", 1021, message) }
  static func receiptAlreadyUsed(_ message: String) -> PlayFabError {
    PlayFabError("ReceiptAlreadyUsed", 1022, message)
  }
  static let noInAppItems = PlayFabError(
    "ReceiptDoesNotContainInAppItems", 1096, "The receipt has no purchases.")
  static let multipleInAppItems = PlayFabError(
    "ReceiptContainsMultipleInAppItems", 1097,
    "The receipt has several purchases that no customer owns, and the request does not say which one it means. "
      + "RestoreIOSPurchases takes them all.")
  static func invalidBundleID(_ message: String) -> PlayFabError { PlayFabError("InvalidBundleID", 1098, message) }
  static func noMatchingCatalogItem(_ version: String?) -> PlayFabError {
    let catalog = version.map { "catalog version \($0.prefix(100))" } ?? "catalog"
    return PlayFabError(
      "NoMatchingCatalogItemForReceipt", 1178, "No offer of the \(catalog) has a product of the receipt.")
  }
  static func invalidCurrencyCode(_ message: String) -> PlayFabError {
    PlayFabError("InvalidCurrencyCode", 1179, message)
  }
  static func invalidEnvironment(_ message: String) -> PlayFabError {
    PlayFabError("InvalidEnvironmentForReceipt", 1300, message)
  }
  static let subscriptionAlreadyTaken = PlayFabError(
    "SubscriptionAlreadyTaken", 1340, "The subscription belongs to another customer.")
  static let notProven = PlayFabError(
    "NotAuthorized", 1089, "The purchase does not prove that it is the customer's (ownership.proof).")

  // MARK: Servers

  static let appleIsSilent = PlayFabError(
    "DownstreamServiceUnavailable", 1127,
    "Apple has not answered in time. The purchase will be verified all the same; ask again later.")
  static func unavailable(_ message: String) -> PlayFabError {
    PlayFabError("ServiceUnavailable", 1123, message, code: 503)
  }
  static let tooFast = PlayFabError(
    "APIClientRequestRateLimitExceeded", 1199,
    "The session ticket sends more than doors.playfab.maxRequestsPerSecond allows.", code: 429)
  static let tooManyWaiting = PlayFabError(
    "APIConcurrentRequestLimitExceeded", 1342, "Too many requests wait here now; send it again.", code: 429)
}

extension PlayFabError {
  /// The error of evidence that is not taken.
  init(_ refusal: EvidenceRefusal, in member: String) {
    switch refusal {
    case .busy: self = .tooManyWaiting
    case .tooLarge: self = .invalidParams(member, "The field has more than \(EvidenceIntake.longest) bytes.")
    case .notActivated: self = .notActivated
    case .rejected(let rejection, _):
      switch rejection.reason {
      case .bundleIdMismatch, .appAppleIdMismatch: self = .invalidBundleID(rejection.text)
      case .environmentMismatch: self = .invalidEnvironment(rejection.text)
      default: self = .invalidReceipt(rejection.text)
      }
    }
  }

  /// The error of a request of which nothing was accepted.
  init(_ refusal: DoorRefusal) {
    switch refusal {
    case .unknownCustomer: self = .accountNotFound
    case .tooManyWaiting: self = .tooManyWaiting
    case .unavailable(let reason): self = .unavailable(reason)
    }
  }

  /// The answer to a request, with HTTP 200 if the client wants that for every answer.
  func response(to request: HTTPServerRequest) -> HTTPServerResponse {
    response(asSuccess: request.header("X-ReportErrorAsSuccess")?.lowercased() == "true")
  }

  /// The answer.
  ///
  /// - Parameter isSuccess: whether it has the status 200.
  func response(asSuccess isSuccess: Bool) -> HTTPServerResponse {
    let body = JSONWriter.object { json in
      json.member("code", Int64(code))
      json.member("status", Self.status(of: code))
      json.member("error", name)
      json.member("errorCode", number)
      json.member("errorMessage", message)
      if !details.isEmpty {
        json.member("errorDetails", json: PlayFabAnswer.details(details))
      }
    }
    var response = jsonResponse(isSuccess ? 200 : code, written: body)
    if code == 429 || code == 503 { response.headers.append(("Retry-After", "2")) }
    return response
  }

  private static func status(of code: Int) -> String {
    switch code {
    case 401: "Unauthorized"
    case 404: "NotFound"
    case 405: "MethodNotAllowed"
    case 413: "RequestEntityTooLarge"
    case 429: "TooManyRequests"
    case 503: "ServiceUnavailable"
    default: "BadRequest"
    }
  }
}
