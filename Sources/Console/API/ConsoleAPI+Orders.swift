import AppleCalls
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Order ids. Only Apple knows them, so the console asks with the keys of the publisher's apps.
extension ConsoleAPI {
  func order(_ request: HTTPServerRequest, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard reader.view.person.role.acts else {
      return reader.message(403, "Not asked", "A viewer asks Apple nothing. Ask somebody with the role support.")
    }
    guard let form = FormBody(request.body), let id = form["order"].flatMap(OrderQuestion.orderId),
      let asked = form["publisher"].flatMap({ PublisherId($0) })
    else { return reader.message(400, "Not asked", "The form cannot be read. Look for the order id again.") }
    guard let publisher = publisher(asked, reader), !OrderLookups.apps(of: publisher).isEmpty else {
      return reader.nothing
    }
    let reply = try await orders.find(id, of: publisher)
    context.log.info("asked Apple about an order at the console", ["publisherId": .int(publisher.id.number)])
    let keys = reply.transactions.purchases(of: publisher.id)
    let known = keys.isEmpty ? [:] : try await PurchaseReader(postgres).purchases(keys)
    let page = OrderPage(view: reader.view, id: id, publisherId: publisher.id, reply: reply, known: known)
    if let only = page.only { return ConsoleAnswer.seeOther(only.address) }
    return ConsoleAnswer.page(page.status, page.html, page.retryAfter.map { [("Retry-After", "\($0)")] } ?? [])
  }
}
