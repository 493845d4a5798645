import AppleCalls
import Domain
import EventLoop
import HTTPServer
import Ledger
import Service

/// Tells what a customer bought, by the order id of Apple's receipt e-mail. It asks Apple, and changes nothing.
@LoopActor
struct OrderAPI {
  let context: RoleContext
  let orders: OrderLookups
  let reader: PurchaseReader
  let limit: RequestLimit
  let metrics: GatewayMetrics
  let publisher: Publisher

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    guard let id = OrderId(written: call[.orderId]) else {
      throw .invalidPath("orderId: expected 1 to \(OrderId.longest) letters and digits")
    }
    guard !publisher.apps.isEmpty else { throw .notActivated }
    try await limit.admitOrder(publisher)
    let reply = try await context.asking { try await orders.find(id, of: publisher) }
    guard case .found(let app, let transactions) = reply else {
      if case .failed(.busy) = reply { metrics.limited(.orderLookups, publisher.id) }
      throw .order(reply, in: OrderLookups.apps(of: publisher))
    }
    let known = try await context.asking { try await reader.purchases(transactions.purchases(of: publisher.id)) }
    let order = Order(id: id, app: app, transactions: transactions, purchases: known)
    return jsonResponse(200, written: order.json(publisher, now: context.now()))
  }
}

extension Problem {
  /// The answer if Apple names no transactions.
  static func order(_ reply: OrderReply, in apps: [Publisher.App]) -> Problem {
    switch reply {
    case .failed(.busy(let wait)): .limited(.orderLookups, wait)
    case .failed(.away(let app)): orderNotAsked("Apple did not answer the call for the app \(app).")
    case .failed(.keyRefused(let app)):
      orderNotAsked("Apple refuses the key of the app \(app): its privateKeyFile, keyId or issuerId is wrong.")
    case .failed(.unverified(let app)):
      orderNotAsked("The answer for the app \(app) does not have Apple's form or signature.")
    case .unknown, .found:
      unknownOrder(
        apps.isEmpty
          ? "Apple looks up orders in production only, and no app of the publisher is there."
          : "Apple knows no such order in the publisher's apps. The id is in the receipt that Apple sends by e-mail.")
    }
  }

  private static func unknownOrder(_ detail: String) -> Problem {
    Problem(404, "ORD0001", "Order not found", detail: detail)
  }

  private static func orderNotAsked(_ detail: String) -> Problem {
    Problem(503, "ORD0002", "Apple cannot be asked now", detail: detail, retryAfter: 5)
  }
}
