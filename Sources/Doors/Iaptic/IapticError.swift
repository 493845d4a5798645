import Domain
import Gateway
import HTTPServer
import JSON

/// An error of iaptic's validator, as its clients read it.
///
/// The plugin reads the body of a 200 only, so every answer of the validator has that status. `status` in the body says
/// what the status would be.
struct IapticError: Error, Equatable {
  /// The validator's codes. 6778003 (expired) and 6778004 (consumed) never come: such a purchase is shown.
  enum Code: Int64, CaseIterable {
    case invalidPayload = 6_778_001
    case connectionFailed = 6_778_002
    case internalError = 6_778_005
    case needMoreData = 6_778_006
  }

  let code: Code
  let status: Int
  let message: String

  init(_ code: Code, status: Int, _ message: String) {
    self.code = code
    self.status = status
    self.message = message
  }

  /// What the client sent is wrong, and stays wrong.
  static func invalidPayload(_ message: String) -> IapticError { IapticError(.invalidPayload, status: 400, message) }
  /// The client may send the same request again.
  static func connectionFailed(_ message: String) -> IapticError {
    IapticError(.connectionFailed, status: 503, message)
  }
  static func needMoreData(_ message: String) -> IapticError { IapticError(.needMoreData, status: 400, message) }
  static func internalError(_ message: String) -> IapticError { IapticError(.internalError, status: 500, message) }

  static let wrongCredential = IapticError(
    .invalidPayload, status: 401, "Error: appName and apiKey do not match")
  static let missingCredential = IapticError(
    .invalidPayload, status: 401,
    "Error: Invalid credentials. Send appName and apiKey in the query, or Authorization: Basic with both.")
  static let brokenPublisher = connectionFailed(
    "The server cannot use the configuration of this app now. Send the request again later.")
  static let ofAnotherUser = invalidPayload("The purchase belongs to another user.")
  static let otherToken = invalidPayload("Apple's appAccountToken of the purchase is another user's.")
  static let sandboxNotAllowed = invalidPayload(
    "The purchase is from Apple's sandbox, which gives this user no access.")
  static let unconfirmed = invalidPayload("Apple has not confirmed the purchase.")
  static let tooFast = IapticError(
    .connectionFailed, status: 429, "The key sends more than doors.iaptic.maxRequestsPerSecond allows. Try again later."
  )
  static let silent = connectionFailed("Apple has not answered yet. The work goes on; send the request again.")

  /// The error of a synchronization's result; `nil` if the purchase may be shown.
  static func of(_ code: ResultCode) -> IapticError? {
    switch code {
    case .purchaseSynchronized, .receivedExpiredPurchase, .purchaseRevoked, .offerNotFound, .purchaseUnclaimed: nil
    case .purchaseOwnedByAnotherCustomer: .ofAnotherUser
    case .ownershipNotProven: .invalidPayload("The request does not prove that the purchase is this user's.")
    case .transactionIdNotFound: .invalidPayload("Apple does not know the transaction.")
    case .appMismatch: .invalidPayload("The purchase belongs to another app.")
    case .verificationFailed: .invalidPayload("Apple did not sign the purchase so.")
    case .sandboxNotAllowed: .sandboxNotAllowed
    case .customerErased: .invalidPayload("The user was erased after the request.")
    case .offerMismatch: .invalidPayload("The product gives another offer.")
    default: .internalError("The verification failed. Send the request again.")
    }
  }

  /// The error of a request of which nothing was accepted.
  static func of(_ refusal: DoorRefusal) -> IapticError {
    switch refusal {
    case .unknownCustomer:
      .invalidPayload("The applicationUsername is not known. The publisher must put the customer first.")
    case .tooManyWaiting: .connectionFailed("Too many requests wait for Apple. Send the request again.")
    case .unavailable(let reason): .connectionFailed(reason)
    }
  }

  /// The error of evidence that the gateway does not take.
  static func of(_ refusal: EvidenceRefusal) -> IapticError {
    switch refusal {
    case .rejected(let rejection, _): .invalidPayload("\(rejection)")
    case .notActivated: .internalError("The publisher has no app.")
    case .tooLarge: .invalidPayload("The receipt is too large.")
    case .busy: .connectionFailed("Too many receipts are read now. Send the request again.")
    }
  }

  /// The error as an answer.
  ///
  /// - Parameter hasTextCode: whether the client reads `code` as a text, as the Swift client does.
  func response(hasTextCode: Bool) -> HTTPServerResponse {
    func code(_ writer: inout JSONWriter) {
      if hasTextCode {
        writer.member("code", String(self.code.rawValue))
      } else {
        writer.member("code", self.code.rawValue)
      }
    }
    return jsonResponse(
      200,
      written: JSONWriter.object { answer in
        answer.member("ok", false)
        answer.member("status", Int64(status))
        code(&answer)
        answer.member("message", message)
        // Plugins before version 12 read the code and the text here.
        answer.member("data") { data in
          code(&data)
          data.member("latest_receipt", true)
        }
        answer.member("error") { $0.member("message", message) }
      })
  }
}
