import Domain
import EventLoop
import HTTPServer
import Service

extension DoorContext {
  /// Checks the credential of a request, and whether the publisher opens Cleeng's door.
  ///
  /// - Throws: ``Problem``: 401 and 400 as everywhere, 404 if the door is closed.
  func cleengCaller(of request: HTTPServerRequest) throws(Problem) -> Caller {
    try CleengAPI.caller(of: request, context.publishers, now: now)
  }
}

extension CleengAPI {
  /// - Parameter now: milliseconds since 1970.
  fileprivate static func caller(
    of request: HTTPServerRequest, _ publishers: Publishers, now: Int64
  ) throws(Problem) -> Caller {
    let caller = try Authenticator(publishers: publishers, now: now / 1000).caller(of: request)
    guard caller.publisher.doors.cleeng != nil else { throw .closedCleengDoor }
    return caller
  }

  /// Whether a payment's head may go on.
  static func admission(of head: HTTPServerRequest, _ publishers: Publishers, now: Int64) -> DoorAdmission {
    do {
      let caller = try caller(of: head, publishers, now: now)
      return .admitted(
        DoorPace.Credential(caller.publisher, .cleeng, caller.customerId ?? ""),
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
