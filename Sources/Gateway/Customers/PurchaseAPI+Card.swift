import Configuration
import Domain
import HTTPServer
import Ledger
import Service

/// A card for helpdesks, which know a customer by an id or by an e-mail address.
extension PurchaseAPI {
  func card(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    try await cardAnswer(of: try customerId(call[.customerId]))
  }

  func cardByEmail(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (email, publisher) = (try requestedEmail(call.request), caller.publisher.id)
    let customer = try await context.asking { try await CustomerStore(postgres).customer(publisher, email: email) }
    guard let customer else { throw .notFound("The publisher has no customer with this e-mail address.") }
    return try await cardAnswer(of: customer.id)
  }

  /// As for the console's pages.
  private static let timeOfPrices = Duration.seconds(2)

  /// The card of a customer whom the ledger knows, whatever the publisher's `customers` says: a wrong id must not look
  /// like somebody who has bought nothing.
  private func cardAnswer(of id: CustomerId) async throws(Problem) -> HTTPServerResponse {
    let key = CustomerKey(publisherId: caller.publisher.id, id: id)
    let found = try await context.asking { try await holdings.holdings(of: key) }
    guard found.isKnown else { throw .noCustomer }
    let renewing = CustomerCard.renewing(found)
    // A price that cannot be read in time is left out.
    let renewals = (try? await RenewalPayloads.newest(of: renewing, within: Self.timeOfPrices, postgres)) ?? [:]
    let card = CustomerCard(
      key, found, caller.publisher, renewals: renewals, page: context.settings.console.page(of: key),
      now: context.now())
    return jsonResponse(200, written: card.json)
  }
}
