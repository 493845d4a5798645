import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON
import Observability
import Service

/// One payment: `POST /apple/payment`. The answer says that the request is well formed; a webhook tells the rest.
///
/// 1. The gateway verifies the receipt locally. If it is no receipt at all, the client gets 400, and nothing happens.
/// 2. It finds the customer, the offer and the purchase. If that fails, an `inappPurchaseValidationFailed` event tells
/// why, and the client gets its 200.
/// 3. It registers this one purchase. Apple's answer decides about access, the ledger about the owner.
@LoopActor
struct CleengPayment {
  let door: DoorContext
  let caller: Caller
  let request: CleengRequest
  /// Where the request comes from.
  let origin: RequestOrigin
  let trace: TraceParent

  private var publisher: Publisher { caller.publisher }

  /// Accepts the payment.
  ///
  /// - Throws: ``Problem``, and then nothing was kept, unless its text says otherwise.
  func accept() async throws(Problem) {
    let (receipt, sha256) = try await receipt()
    guard let customer = try await customer() else { return try await refuse(.customerNotFound, of: nil, sha256) }
    switch receipt {
    case .failure(let failure): try await refuse(failure, of: customer, sha256)
    case .success(let evidence):
      guard let offer = publisher.offers.all.first(where: { $0.id == request.offerId }) else {
        return try await refuse(.offerNotFound, of: customer, sha256)
      }
      switch Self.purchase(in: evidence.purchases, request, publisher) {
      case .failure(let failure): try await refuse(failure, of: customer, sha256)
      case .success(let purchase): try await register(purchase, of: evidence, offer, for: customer, sha256)
      }
    }
  }

  // MARK: The receipt

  /// Verifies the receipt. The client learns a failure from an event.
  ///
  /// - Throws: ``Problem``: 400 REQ0001 for a text that is no receipt, 413, 500 without an app, 503.
  private func receipt() async throws(Problem) -> (Result<LocalEvidence, CleengFailure>, sha256: [UInt8]) {
    do {
      let evidence = try await door.evidence.receipt(request.receiptData, publisher: publisher, from: origin)
      return (.success(evidence), evidence.sha256 ?? [])
    } catch {
      switch error {
      case .notActivated: throw .notActivated
      case .busy: throw .unavailable("The gateway verifies as many receipts as it can. Nothing was kept.")
      case .tooLarge: throw .tooLarge(EvidenceIntake.longest)
      case .rejected(let rejection, let sha256):
        guard let failure = CleengFailure(rejection.reason) else {
          throw .invalidBody("receipt.receiptData: \(rejection.text)")
        }
        door.context.log.info(
          "payment refused", ["publisherId": .int(publisher.id.number), "cause": .string(rejection.description)])
        return (.failure(failure), sha256 ?? [])
      }
    }
  }

  /// The purchase of a receipt that the request means: the one with the named transaction, or that began with it.
  /// Without a name it is the newest one whose product belongs to the named offer.
  nonisolated static func purchase(
    in purchases: [LocalPurchase], _ request: CleengRequest, _ publisher: Publisher
  ) -> Result<LocalPurchase, CleengFailure> {
    if let named = request.transactionId {
      let found =
        purchases.first { $0.transactionIds.contains(named) }
        // A renewal names the first transaction of its purchase, which a receipt need not list any more.
        ?? purchases.first { $0.key.originalTransactionId.firstTransaction == named }
      return found.map { .success($0) } ?? .failure(.transactionNotInReceipt)
    }
    guard !purchases.isEmpty else { return .failure(.transactionNotInReceipt) }
    let found = purchases.first {
      publisher.offers.offer(forProduct: $0.productId)?.id == request.offerId
    }
    return found.map { .success($0) } ?? .failure(.offerMismatch)
  }

  // MARK: The customer

  /// The customer who pays: that of the token, or the one with the e-mail address; `nil` if the publisher has none.
  private func customer() async throws(Problem) -> CustomerId? {
    let (context, id) = (door.context, publisher.id)
    if let own = caller.customerId {
      let known = try await context.asking { try await door.customer(id, id: own)?.email }
      guard known.map({ Customer.emailKey($0).isExactly(Customer.emailKey(request.customerEmail)) }) ?? true else {
        throw .invalidBody("customerEmail: is not the address of the token's customer")
      }
      return own
    }
    let found = try await context.asking { try await door.customer(id, email: request.customerEmail) }
    if let found { return found.id }
    guard publisher.customers(through: .cleeng) == .open else { return nil }
    let user = Customer.emailKey(request.customerEmail)
    // An address with control characters, or a very long one, names nobody.
    return publisher.doors.cleeng.map { $0.policy.customerId(of: user) }.flatMap { $0.isValid ? $0 : nil }
  }

  // MARK: What happens

  private func register(
    _ purchase: LocalPurchase, of evidence: LocalEvidence, _ offer: Offer, for customer: CustomerId, _ sha256: [UInt8]
  ) async throws(Problem) {
    let results: [DoorResult]
    do {
      results = try await door.registration.register(
        [purchase],
        DoorRequest(
          publisher: publisher, door: .cleeng, customerId: customer, isByCustomer: caller.customerId != nil,
          tokenName: caller.token?.name, attributes: coupon(for: offer).map { PurchaseAttributes(couponCode: $0) },
          ipAddress: request.ipAddress,
          requestedOfferId: request.offerId, evidence: evidence, traceparent: trace.description),
        wait: nil)
    } catch {
      switch error {
      case .unknownCustomer: return try await refuse(.customerNotFound, of: customer, sha256)
      case .tooManyWaiting: throw .unavailable("Too many requests wait. Nothing was kept.")
      case .unavailable(let detail): throw .unavailable(detail)
      }
    }
    for case .failed(let detail) in results.map(\.state) { throw .unavailable(detail) }
  }

  /// The coupon, if it is of a campaign for the offer. An invalid one does not fail the payment.
  private func coupon(for offer: Offer) -> String? {
    guard let code = request.couponCode else { return nil }
    guard offer.coupons.containsExactly(code) else {
      door.context.log.info(
        "coupon not known", ["publisherId": .int(publisher.id.number), "offerId": .string(offer.id.text)])
      return nil
    }
    return code
  }

  /// Tells a refusal by an event; of a customer's token only so many.
  ///
  /// - Parameter sha256: the receipt's.
  private func refuse(_ failure: CleengFailure, of customer: CustomerId?, _ sha256: [UInt8]) async throws(Problem) {
    if let sender = caller.customerId {
      let name = RefusalAllowance.Sender(.cleeng, publisherId: publisher.id, name: ExactText(sender.text))
      let parts = [failure.rawValue, request.offerId.text, request.transactionId?.text ?? "", Hex.encode(sha256)]
      let digest = SHA256.hash(Array(JSONValue.array(parts.map(JSONValue.string)).json))
      guard door.refusals.admits(digest, of: name, now: door.now) else { return }
    }
    let payment = CleengRefusedPayment(
      publisherId: publisher.id, customerId: customer, offerId: request.offerId,
      transactionId: request.transactionId, couponCode: request.couponCode, receiptSHA256: sha256, time: door.now,
      traceparent: trace.description)
    try await door.context.asking { try await door.tell([payment.event(failure)]) }
  }
}

extension CleengFailure {
  /// The failure of a receipt that was read and not accepted; `nil` if the text is no receipt at all.
  init?(_ reason: Rejection.Reason) {
    switch reason {
    case .malformed, .kindMismatch, .transactionReceipt: return nil
    case .bundleIdMismatch, .appAppleIdMismatch: self = .receiptOfAnotherApp
    case .environmentMismatch: self = .environmentNotAccepted
    default: self = .receiptNotValid
    }
  }
}
