import Domain
import HTTPServer

/// The customer for whom a client of PlayFab's API acts.
struct PlayFabCaller {
  let publisher: Publisher
  /// The publisher's own id of the customer, as the token has it: no prefix stands before it.
  let customerId: String

  /// Checks `X-Authorization`. The session ticket is the publisher's customer token: there is no login of PlayFab's.
  ///
  /// - Parameter now: milliseconds since 1970.
  init(_ request: HTTPServerRequest, _ publishers: Publishers, now: Int64) throws(PlayFabError) {
    guard let ticket = request.header("X-Authorization"), !ticket.isEmpty else { throw .notAuthenticated }
    let caller: Caller
    do {
      caller = try Authenticator(publishers: publishers, now: now / 1000).customer(ticket)
    } catch {
      throw .invalidSessionTicket(error.detail ?? error.message)
    }
    publisher = caller.publisher
    guard publisher.doors.playfab != nil else { throw .closed }
    guard let customer = caller.customerId else { throw .accountNotFound }
    customerId = customer
  }
}
