import Domain
import Gateway
import HTTPServer

/// The customer for whom a client of PlayFab's API acts.
struct PlayFabCaller {
  let publisher: Publisher
  /// The publisher's own id of the customer, as the token has it: no prefix stands before it.
  let customerId: CustomerId

  /// Checks `X-Authorization`. The session ticket is the publisher's customer token: there is no login of PlayFab's.
  init(_ request: HTTPServerRequest, _ authenticator: Authenticator) throws(PlayFabError) {
    guard let ticket = request.header("X-Authorization"), !ticket.isEmpty else { throw .notAuthenticated }
    let caller: Caller
    do {
      caller = try authenticator.customer(ticket)
    } catch {
      if error.status == 503 { throw .unavailable(error.detail ?? error.message) }
      throw .invalidSessionTicket(error.detail ?? error.message)
    }
    publisher = caller.publisher
    guard publisher.doors.playfab != nil else { throw .closed }
    guard let customer = caller.customerId else { throw .accountNotFound }
    customerId = customer
  }
}
