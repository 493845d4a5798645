import AppStore
import Configuration
import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import Service

/// Answers as the receipt validator of iaptic (Fovea.Billing) does: docs/compatibility/iaptic.md.
@LoopActor
enum IapticAPI {
  /// `POST /v1/validate`.
  static func validate(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    var hasTextCode = false
    do throws(IapticError) {
      // The credential comes first: a large body costs more to read than to send.
      let (publisher, policy) = try validator(call.request, door.context.publishers, now: door.now)
      let (user, evidence) = try await read(call.request, publisher, door, &hasTextCode)
      let answer = try await validate(
        evidence, of: user, publisher, policy, door, traceparent: call.request.header("traceparent"))
      return jsonResponse(200, written: try answer.body())
    } catch {
      return error.response(hasTextCode: hasTextCode)
    }
  }

  /// Reads what the client sent, and keeps nothing else of it: the request may wait for long then.
  private static func read(
    _ request: HTTPServerRequest, _ publisher: Publisher, _ door: DoorContext, _ hasTextCode: inout Bool
  ) async throws(IapticError) -> (IapticUser, LocalEvidence) {
    let body: IapticBody
    do {
      defer { request.forgetBody() }
      body = try await door.evidence.reading(request, of: publisher.id) { IapticBody($0.body) }.get()
    } catch {
      throw .of(error)
    }
    hasTextCode = body.hasTextCode
    let parsed = try body.request.get()
    return (parsed.user, try await evidence(parsed, publisher, door, from: request.origin))
  }

  /// Whether a head may go on. The body that names the client has not been read.
  static func admission(of head: HTTPServerRequest, _ publishers: Publishers, now: Int64) -> DoorAdmission {
    // The Swift client sends Basic, and the plugin names its key in the query.
    let hasTextCode = head.header("Authorization") != nil
    do throws(IapticError) {
      let (publisher, policy) = try validator(head, publishers, now: now)
      // A backend must not wait for those who took the public key out of the app.
      let isBackend = IapticCredential(head)?.reader(publishers, now: now).found != nil
      return .admitted(
        DoorPace.Credential(publisher, .iaptic, isBackend ? "backend" : "app", isBackend ? .backend : .app),
        perSecond: policy.maxRequestsPerSecond, tooFast: IapticError.tooFast.response(hasTextCode: hasTextCode))
    } catch {
      return .refused(error.response(hasTextCode: hasTextCode))
    }
  }

  private static func validator(
    _ request: HTTPServerRequest, _ publishers: Publishers, now: Int64
  ) throws(IapticError) -> (Publisher, DoorPolicy) {
    guard let credential = IapticCredential(request) else { throw .missingCredential }
    switch credential.validator(publishers, now: now) {
    case .found(let publisher):
      guard let policy = publisher.doors.iaptic?.policy else { throw .wrongCredential }
      return (publisher, policy)
    case .broken: throw .brokenPublisher
    case .unknown: throw .wrongCredential
    }
  }

  /// The answer to a body that is too long to be read. Nobody knows which client sent it.
  nonisolated static func tooLarge(limit: Int) -> HTTPServerResponse {
    IapticError.invalidPayload("The body is too large. The limit is \(limit) bytes.").response(hasTextCode: false)
  }

  /// The answer to a body for which the gateway has no room now.
  nonisolated static func noRoom() -> HTTPServerResponse {
    IapticError.connectionFailed("Too many bodies wait here now. Send the request again.").response(hasTextCode: false)
  }

  private static func validate(
    _ evidence: LocalEvidence, of user: IapticUser, _ publisher: Publisher, _ policy: DoorPolicy, _ door: DoorContext,
    traceparent: String?
  ) async throws(IapticError) -> IapticAnswer {
    let customer = user.name.map(policy.customerId)
    if let customer, !customer.isValid {
      throw .invalidPayload("additionalData.applicationUsername: \(CustomerId.expectation)")
    }
    if user.isContradicted(by: evidence) { throw .otherToken }
    let results: [DoorResult]
    do {
      results = try await door.registration.register(
        evidence.purchases,
        DoorRequest(
          publisher: publisher, door: .iaptic, customerId: customer, evidence: evidence, traceparent: traceparent),
        wait: door.context.settings.gateway.doors.wait(at: .iaptic))
    } catch {
      throw .of(error)
    }
    let purchases = try await asking(door) { try await door.purchases(results.map(\.key)) }
    var answer = IapticAnswer(
      evidence: evidence, results: results, purchases: purchases, publisher: publisher, customerId: customer,
      token: user.token, now: door.now)
    if let customer, let token = user.token, user.isProven(by: evidence), policy.takesTokensAsProof {
      answer.others = try await others(
        of: CustomerKey(publisherId: publisher.id, id: customer), token: token, beside: evidence, door)
    }
    return answer
  }

  private static func evidence(
    _ request: IapticRequest, _ publisher: Publisher, _ door: DoorContext, from origin: RequestOrigin
  ) async throws(IapticError) -> LocalEvidence {
    do {
      return try await door.evidence.read(request.evidence, publisher: publisher, from: origin)
    } catch {
      throw .of(error)
    }
  }

  /// The customer's other purchases of the app with the same token.
  ///
  /// With StoreKit 2 the plugin sends only its last transaction, and takes the answer for everything that the user has.
  /// The key of the request is public, and the app chooses the token of a purchase. So the answer tells more than the
  /// request has only if the publisher takes such a token for the proof of who the user is.
  private static func others(
    of customer: CustomerKey, token: AppAccountToken, beside evidence: LocalEvidence, _ door: DoorContext
  ) async throws(IapticError) -> [Purchase] {
    let known = Set(evidence.purchases.map(\.key))
    return try await asking(door) { try await door.purchases(of: customer) }.filter { purchase in
      !known.contains(purchase.key) && purchase.key.environment == evidence.environment
        && purchase.deciding.bundleId == evidence.bundleId && purchase.deciding.appAccountToken == token
    }
  }

  private static func asking<Value>(
    _ door: DoorContext, _ ask: () async throws -> Value
  ) async throws(IapticError) -> Value {
    do {
      return try await door.context.asking(ask)
    } catch {
      throw .connectionFailed(error.detail ?? error.message)
    }
  }
}

extension DoorPolicy {
  /// Whether an `appAccountToken` proves who a customer is.
  fileprivate var takesTokensAsProof: Bool { if case .appAccountToken = ownership.proof { true } else { false } }
}
