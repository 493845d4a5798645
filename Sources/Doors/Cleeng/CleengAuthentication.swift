import Domain
import EventLoop
import Gateway
import HTTPServer
import Service

extension DoorContext {
  /// Checks the credential of a request, whether the publisher opens Cleeng's door, and the scope of its token.
  ///
  /// - Throws: ``Problem``: 401, 403 and 400 as everywhere, 404 if the door is closed.
  func cleengCaller(of request: HTTPServerRequest, _ scope: TokenScope) throws(Problem) -> Caller {
    try CleengAPI.caller(of: request, authentication.authenticator, scope)
  }

  /// Checks who reads, and counts the read.
  ///
  /// - Throws: ``Problem``: as ``cleengCaller(of:_:)``, and 429 as for reads of our own API.
  func cleengReader(of request: HTTPServerRequest) async throws(Problem) -> Caller {
    let caller = try cleengCaller(of: request, .read)
    try await limit.admit(caller)
    return caller
  }
}

extension CleengAPI {
  fileprivate static func caller(
    of request: HTTPServerRequest, _ authenticator: Authenticator, _ scope: TokenScope
  ) throws(Problem) -> Caller {
    let caller = try authenticator.caller(of: request)
    guard caller.publisher.doors.cleeng != nil else { throw .closedCleengDoor }
    try caller.require(scope)
    return caller
  }

  /// Whether a payment's head may go on.
  static func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    do {
      let caller = try caller(of: head, authenticator, .register)
      return .admitted(
        DoorPace.Credential(
          caller.publisher, .cleeng, caller.customerId?.text ?? "", caller.customerId == nil ? .backend : .app),
        perSecond: caller.publisher.doors.cleeng?.policy.maxRequestsPerSecond,
        tooFast: CleengError.response(
          .tooManyRequests("This credential sends more than doors.cleeng.maxRequestsPerSecond allows.", retryAfter: 1)))
    } catch {
      return .refused(CleengError.response(error))
    }
  }
}

extension Problem {
  /// A request to a door that the publisher has not opened. For this publisher the path does not exist.
  static let closedCleengDoor = Problem.notFound(
    "The publisher does not serve this path: its file has no doors.cleeng with \"enabled\": true.")

  /// A publisher's token on a path that needs to know the customer.
  static let needsCustomer = Problem.forbidden(
    "This path needs a customer's token. GET /3.1/entitlements/customer_id/{customerId}/offer_id/{offerId} takes the "
      + "publisher's.")

  /// A customer's token on a path of the publisher's.
  static let needsPublisher = Problem.forbidden(
    "This path needs the publisher's token, X-Publisher-Token. GET /entitlements/{offerId} takes a customer's.")
}
