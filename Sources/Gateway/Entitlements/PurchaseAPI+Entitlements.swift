import Domain
import HTTPServer
import Ledger
import Service

extension PurchaseAPI {
  func entitlements(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let answer = try await readEntitlements(call)
    return jsonResponse(200, written: answer.list)
  }

  func entitlement(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let offer = OfferId(call[.offerId])
    guard caller.publisher.offers.contains(offer) else {
      throw .notFound("The publisher has no offer with this id.")
    }
    let answer = try await readEntitlements(call)
    return jsonResponse(200, written: answer.one(offer))
  }

  private func readEntitlements(_ call: Call) async throws(Problem) -> EntitlementsAnswer {
    let customer = try customer(call)
    let found = try await context.asking { try await holdings.holdings(of: customer) }
    try require(found)
    return EntitlementsAnswer(customer, found, caller.publisher, now: context.now())
  }
}
