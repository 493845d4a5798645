import Domain
import Formats
import HTTPServer
import Ledger
import Observability
import Service

/// Gives a purchase to another customer: the commit of the API's transfers, with the person's name in the audit log.
///
/// The form names what the person saw: the period of ownership, the deciding transaction and the time. And it names the
/// synchronization that it makes. So it never takes a purchase from its next owner, brings back nobody who was erased
/// after the preview, and happens once.
extension ConsoleAPI {
  func transfer(
    _ key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: key.publisherId, reader)
    guard let purchase = try await PurchaseReader(postgres).purchases([key])[key] else { return reader.nothing }
    let view = reader.view
    let text = body["to"] ?? ""
    func question(_ status: Int, _ refusal: String?) -> HTTPServerResponse {
      ConsoleAnswer.page(status, TransferPreview.question(purchase, to: text, refusal, view).html)
    }
    guard !publisher.isMigrating else {
      throw ConsoleRefusal.notDone(
        409, "The publisher is migrating from another system, and transfers nothing meanwhile.")
    }
    guard !text.isEmpty else { return question(200, nil) }
    // Before the customer is looked for: an erasure after that must count.
    let now = context.now()
    let target = key.customer(CustomerId(text))
    guard target.id.isValid, !text.utf8.contains(0) else {
      return question(400, "A customer's id has 1 to \(CustomerId.longest) bytes.")
    }
    guard try await mayOwn(target, publisher) else {
      return question(404, "The publisher has no customer with this id. Check it: capitals count.")
    }
    let isConfirmed = body["step"] == "confirm"
    let id = try formToken("id", in: body, isConfirmed: isConfirmed)
    var preview = TransferPreview(
      view: view, purchase: purchase,
      from: try await side(purchase.owner.map { key.customer($0.customerId) }, publisher),
      to: try await side(target, publisher), id: id)
    guard isConfirmed else {
      if let refusal = preview.decision.refusal { return question(409, refusal) }
      return ConsoleAnswer.page(200, preview.html)
    }
    guard let seen = body["seen"].flatMap({ Int64($0) }), let transaction = body["transactionId"] else {
      throw ConsoleRefusal.malformed
    }
    guard TransactionId(transaction) == purchase.deciding.transactionId else {
      preview.refusal = "Apple has sent something new about the purchase. Look at both sides again."
      return ConsoleAnswer.page(409, preview.html)
    }
    let job = Job(
      synchronizationId: SynchronizationId(id), publisherId: key.publisherId, customerId: target.id,
      transactionId: purchase.deciding.transactionId, kind: .transfer, registeredAt: min(now, seen),
      traceparent: TraceParent().description)
    do {
      let made = try await PurchaseTransfer(postgres).transfer(
        key, by: job, publisher: publisher, subscriptionId: body["subscriptionId"].flatMap { Int64($0) },
        person: view.person.name, now: now)
      guard let made else {
        preview.refusal = "The purchase changed its owner meanwhile. Look at both sides again before you transfer it."
        return ConsoleAnswer.page(409, preview.html)
      }
      let result = made.synchronization.result?.code
      made.takeTold().leaveInOutbox()
      guard result != .customerErased else {
        return question(409, "The customer was erased after the preview. Nothing is transferred.")
      }
      guard result == .purchaseOwnershipTransferred else {
        return question(
          409, preview.decision.refusal ?? "The ledger decided otherwise: \(result?.rawValue ?? "no result").")
      }
      log(of: key).info("purchase transferred at the console", ["synchronizationId": .string(id)])
      return ConsoleAnswer.seeOther(view.link(to: key).address)
    } catch {
      log("console could not transfer a purchase", error)
      preview.refusal = "The ledger did not answer, so it may be done. Send the form again: it happens once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }

  /// Whether a customer may get purchases, as a registration asks.
  func mayOwn(_ customer: CustomerKey, _ publisher: Publisher) async throws -> Bool {
    guard publisher.customers == .registered else { return true }
    return try await CustomerStore(postgres).isRegistered(customer.publisherId, customer.id)
  }

  private func side(_ customer: CustomerKey, _ publisher: Publisher) async throws -> TransferPreview.Side {
    TransferPreview.Side(
      customer: customer, rules: try await rules(for: customer, publisher),
      holdings: try await holdings.holdings(of: customer))
  }

  private func side(_ customer: CustomerKey?, _ publisher: Publisher) async throws -> TransferPreview.Side? {
    guard let customer else { return nil }
    return try await side(customer, publisher) as TransferPreview.Side
  }
}
