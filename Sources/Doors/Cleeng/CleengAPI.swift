import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import Ledger
import Observability
import Service

/// Cleeng's StoreKit 1 contract: a payment with a receipt, and the reads with which its clients poll for access.
@LoopActor
enum CleengAPI {
  /// `POST /apple/payment`, with the publisher's token or a customer's.
  static func pay(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answer { () async throws(Problem) in
      let caller = try door.cleengCaller(of: call.request, .register)
      let trace = TraceParent(of: call.request.header("traceparent"))
      let request = try await read(call.request, by: caller, door)
      let payment = CleengPayment(
        door: door, caller: caller, request: request, origin: call.request.origin, trace: trace)
      try await payment.accept()
      return CleengAnswer.accepted
    }
  }

  /// `GET /entitlements/{offerId}`, with a customer's token.
  static func entitlement(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answer { () async throws(Problem) in
      let caller = try await door.cleengReader(of: call.request)
      guard let customer = caller.customerId else { throw .needsCustomer }
      return CleengAnswer.mediaStoreEntitlement(
        try await door.cleengEntitlement(OfferId(call[.offerId]), of: customer, caller.publisher))
    }
  }

  /// `GET /3.1/entitlements/customer_id/{customerId}/offer_id/{offerId}`, with the publisher's token.
  static func customersEntitlement(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answer { () async throws(Problem) in
      let caller = try await door.cleengReader(of: call.request)
      guard caller.customerId == nil else { throw .needsPublisher }
      let customer = try customerId(call[.customerId])
      return CleengAnswer.entitlement(
        try await door.cleengEntitlement(OfferId(call[.offerId]), of: customer, caller.publisher))
    }
  }

  private static func read(
    _ request: HTTPServerRequest, by caller: Caller, _ door: DoorContext
  ) async throws(Problem) -> CleengRequest {
    let isByCustomer = caller.customerId != nil
    let read: Result<CleengRequest, Problem>
    do {
      read = try await door.evidence.reading(request, of: caller.publisher.id) { (request) throws(Problem) in
        try CleengRequest(request, isByCustomer: isByCustomer)
      }
    } catch {
      throw .unavailable("The gateway reads too many receipts at once. Nothing was kept.")
    }
    return try read.get()
  }

  /// The answer to a body over the limit.
  nonisolated static func tooLarge(limit: Int) -> HTTPServerResponse { CleengError.response(.tooLarge(limit)) }

  /// The answer to a body for which the gateway has no room now.
  nonisolated static func noRoom() -> HTTPServerResponse {
    CleengError.response(.unavailable("Too many bodies wait here now. Nothing was kept."))
  }

  private static func answer(
    _ handle: @LoopActor () async throws(Problem) -> HTTPServerResponse
  ) async -> HTTPServerResponse {
    do {
      return try await handle()
    } catch {
      return CleengError.response(error)
    }
  }
}

extension DoorContext {
  /// A customer's access to one offer, from the ledger. An unknown customer or offer has no access.
  func cleengEntitlement(
    _ offer: OfferId, of customer: CustomerId, _ publisher: Publisher
  ) async throws(Problem) -> CleengEntitlement {
    guard TextLimit.name.admits(offer.text) else { throw .invalidPath("offerId: expected \(TextLimit.name)") }
    let key = CustomerKey(publisherId: publisher.id, id: customer)
    let found = try await context.asking { try await holdings(of: key) }
    return CleengEntitlement(
      key, offerId: offer, holdings: found, publisher: publisher, now: now)
  }
}
