import AppStore
import Configuration
import Domain
import EventLoop
import Gateway
import HTTPServer
import Service

/// PlayFab's client API for purchases of the App Store (docs/compatibility/playfab.md).
///
/// A request goes this way: the ticket names the customer, the body holds evidence, the evidence names purchases. Those
/// of the catalog become jobs, the answer waits for their results, and then it shows the purchases of the ledger.
@LoopActor
struct PlayFabAPI {
  let door: DoorContext
  let caller: PlayFabCaller
  let traceparent: String?

  /// `POST /Client/RestoreIOSPurchases`.
  static func restore(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answer(door, call) { api async throws(PlayFabError) in
      try await api.restore(call.request)
    }
  }

  /// `POST /Client/ValidateIOSReceipt`.
  static func validate(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answer(door, call) { api async throws(PlayFabError) in
      [try await api.validate(call.request)]
    }
  }

  /// The answer to a body over the limit. Nobody has read it, so nobody knows how the client wants its errors.
  nonisolated static func tooLarge(limit: Int) -> HTTPServerResponse {
    PlayFabError.tooLarge(limit).response(asSuccess: false)
  }

  /// The answer to a body for which the gateway has no room now.
  nonisolated static func noRoom() -> HTTPServerResponse {
    PlayFabError.unavailable("Too many bodies wait here now; send the request again.").response(asSuccess: false)
  }

  /// The answer to a method that is not there, or not by this verb of HTTP.
  nonisolated static func unknownMethod(_ problem: Problem, _ request: HTTPServerRequest) -> HTTPServerResponse {
    var response = PlayFabError.unknownMethod(problem).response(to: request)
    if let allowed = problem.headers["Allow"] { response.headers.append(("Allow", allowed)) }
    return response
  }

  /// Whether a head may go on.
  static func admission(of head: HTTPServerRequest, by authenticator: Authenticator) -> DoorAdmission {
    do throws(PlayFabError) {
      let caller = try PlayFabCaller(head, authenticator)
      return .admitted(
        DoorPace.Credential(caller.publisher, .playfab, caller.customerId.text, .app),
        perSecond: caller.publisher.doors.playfab?.policy.maxRequestsPerSecond,
        tooFast: PlayFabError.tooFast.response(to: head))
    } catch {
      return .refused(error.response(to: head))
    }
  }

  private static func answer(
    _ door: DoorContext, _ call: DoorCall,
    _ body: @LoopActor (PlayFabAPI) async throws(PlayFabError) -> [PlayFabFulfillment]
  ) async -> HTTPServerResponse {
    do throws(PlayFabError) {
      let caller = try PlayFabCaller(call.request, door.authentication.authenticator)
      let api = PlayFabAPI(door: door, caller: caller, traceparent: call.request.header("traceparent"))
      return PlayFabAnswer.fulfilled(try await body(api))
    } catch {
      return error.response(to: call.request)
    }
  }

  // MARK: The two requests

  private func restore(_ request: HTTPServerRequest) async throws(PlayFabError) -> [PlayFabFulfillment] {
    let (evidence, catalog) = try await read(restoring: request)
    guard !evidence.purchases.isEmpty else { throw .noInAppItems }
    let wanted = evidence.purchases.filter { catalog.offer(forProduct: $0.productId) != nil }
    guard !wanted.isEmpty else { throw .noMatchingCatalogItem(catalog.version) }
    let verdicts = try await register(wanted, of: evidence, catalog)
    return try PlayFabVerdict.restored(verdicts).map { item in
      PlayFabFulfillment(item: item, price: .restored(catalog: item.offer.price, apple: item.applePrice))
    }
  }

  private func validate(_ request: HTTPServerRequest) async throws(PlayFabError) -> PlayFabFulfillment {
    let (evidence, price, catalog) = try await read(validating: request)
    guard !evidence.purchases.isEmpty else { throw .noInAppItems }
    let choice = PlayFabChoice(evidence.purchases, catalog, price, now: door.now)
    let purchase = try choice.purchase(given: choice.asksForOwners ? try await owned(choice.keys) : [])
    let offer = catalog.offer(forProduct: purchase.productId)
    try price.check(catalog: offer?.price, apple: evidence.price, quantity: purchase.quantity ?? 1)
    let verdicts = try await register([purchase], of: evidence, catalog)
    guard let item = try verdicts.first?.single() else { throw .unavailable("The purchase was not accepted.") }
    return PlayFabFulfillment(
      item: item,
      price: price.recorded(catalog: item.offer.price, apple: item.applePrice, quantity: item.quantity))
  }

  // MARK: Evidence

  // Both read what the client sent, and keep nothing else of it: the request may wait for long then.

  private func read(
    restoring request: HTTPServerRequest
  ) async throws(PlayFabError) -> (LocalEvidence, PlayFabCatalog) {
    defer { request.forgetBody() }
    let body = try await read(request) { (request) throws(PlayFabError) in try PlayFabRestoreRequest(request) }
    let catalog = PlayFabCatalog(offers: caller.publisher.offers, version: body.catalogVersion)
    return (try await evidence(.receipt(body.receiptData), of: request), catalog)
  }

  private func read(
    validating request: HTTPServerRequest
  ) async throws(PlayFabError) -> (LocalEvidence, PlayFabPrice, PlayFabCatalog) {
    defer { request.forgetBody() }
    let body = try await read(request) { (request) throws(PlayFabError) in try PlayFabValidateRequest(request) }
    let evidence = try await evidence(body.evidence, of: request)
    let catalog = PlayFabCatalog(offers: caller.publisher.offers, version: body.catalogVersion)
    return (
      evidence, PlayFabPrice(amount: body.purchasePrice, currency: body.currencyCode.map(CurrencyCode.init(_:))),
      catalog
    )
  }

  private func read<Body: Sendable>(
    _ request: HTTPServerRequest, _ read: @escaping @Sendable (HTTPServerRequest) throws(PlayFabError) -> Body
  ) async throws(PlayFabError) -> Body {
    let body: Result<Body, PlayFabError>
    do {
      body = try await door.evidence.reading(request, of: caller.publisher.id, read)
    } catch {
      throw PlayFabError(error, in: "ReceiptData")
    }
    return try body.get()
  }

  private func evidence(
    _ text: EvidenceText, of request: HTTPServerRequest
  ) async throws(PlayFabError) -> LocalEvidence {
    do throws(EvidenceRefusal) {
      return try await door.evidence.read(text, publisher: caller.publisher, from: request.origin)
    } catch {
      let isReceipt = if case .receipt = text { true } else { false }
      throw PlayFabError(error, in: isReceipt ? "ReceiptData" : "JwsReceiptData")
    }
  }

  // MARK: Register and await

  private func register(
    _ purchases: [LocalPurchase], of evidence: LocalEvidence, _ catalog: PlayFabCatalog
  ) async throws(PlayFabError) -> [PlayFabVerdict] {
    let request = DoorRequest(
      publisher: caller.publisher, door: .playfab, customerId: caller.customerId, isByCustomer: true,
      evidence: evidence, traceparent: traceparent)
    let results: [DoorResult]
    do throws(DoorRefusal) {
      results = try await door.registration.register(
        purchases, request, wait: door.context.settings.gateway.doors.wait(at: .playfab))
    } catch {
      throw PlayFabError(error)
    }
    let known = try await known(
      results.map(\.key), else: "The purchases are registered, and cannot be read now; send the request again.")
    let rules = caller.publisher.accessRules(for: caller.customerId, owning: known.values)
    return results.map { result in
      let purchase = known[result.key]
      let item = purchase.flatMap {
        PlayFabItem($0, of: caller.customerId, catalog, rules: rules, now: door.now)
      }
      return PlayFabVerdict(result.state, purchase, item, catalog)
    }
  }

  // MARK: The ledger

  /// Those of some purchases that have an owner.
  private func owned(_ keys: [PurchaseKey]) async throws(PlayFabError) -> Set<PurchaseKey> {
    let known = try await known(keys, else: "The receipt's purchases cannot be read now; send the request again.")
    return Set(known.filter { $0.value.owner != nil }.keys)
  }

  private func known(
    _ keys: [PurchaseKey], else message: String
  ) async throws(PlayFabError) -> [PurchaseKey: Purchase] {
    do {
      return try await door.purchases(keys)
    } catch {
      door.context.log.ledgerFailure("the purchases of a PlayFab request could not be read", error)
      throw .unavailable(message)
    }
  }
}

extension LocalEvidence {
  /// The price that Apple signed; `nil` for a receipt, which has none.
  fileprivate var price: PlayFabApplePrice? {
    guard case .signedTransaction(let payload, _) = kind else { return nil }
    return PlayFabApplePrice(
      thousandths: payload.price, currency: payload.currency,
      offer: (payload.offerType?.rawValue, payload.offerIdentifier, payload.offerDiscountType?.rawValue))
  }
}
