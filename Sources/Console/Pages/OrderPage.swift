import AppleCalls
import Domain
import Formats

/// What Apple says about an order id.
struct OrderPage {
  let view: ConsoleView
  let id: OrderId
  let publisherId: PublisherId
  let reply: OrderReply
  /// Those of the order's purchases that are here.
  var known: [PurchaseKey: Purchase] = [:]

  private var purchases: [PurchaseKey] { reply.transactions.purchases(of: publisherId) }

  /// The page of the only purchase of the order; `nil` if there is none or more than one, or if it is not here.
  var only: Link? {
    let keys = purchases
    guard keys.count == 1, known[keys[0]] != nil else { return nil }
    return view.link(to: keys[0])
  }

  var status: Int {
    switch reply {
    case .found: 200
    case .unknown: 404
    case .failed(.busy): 429
    case .failed: 503
    }
  }

  /// The seconds after which the person may ask again; `nil` if asking again does not help.
  var retryAfter: Int? {
    switch reply {
    case .found, .unknown: nil
    case .failed(let obstacle): obstacle.retryAfter
    }
  }

  var html: Document { Layout.page("Order \(id)", view, search: id.text, content) }

  private var content: [HTML] {
    switch reply {
    case .found(let app, let transactions) where transactions.isEmpty:
      return message(
        "Apple knows the order, without a purchase", "The order has nothing that was bought in the app \(app).")
    case .found(let app, let transactions): return [title("Apple's order"), table(app, transactions), hint]
    case .unknown:
      return message(
        "Apple knows no such order",
        "None of the publisher's apps has an order of this id. Check each letter; or the receipt is for another app.")
    case .failed(.busy):
      return message(
        "Too many questions to Apple", "The calls that Apple allows for order ids are used up. Ask again in a moment.")
    case .failed(.away(let app)):
      return message("Apple did not answer", "The call for the app \(app) failed. Ask again in a moment.")
    case .failed(.keyRefused(let app)):
      return message(
        "Apple refuses the key", "Tell an operator that privateKeyFile, keyId or issuerId of the app \(app) is wrong.")
    case .failed(.unverified(let app)):
      return message(
        "Apple's answer cannot be used", "The answer for the app \(app) does not have Apple's form or signature.")
    }
  }

  private func title(_ text: String) -> HTML { .element(.h1, [], [.text(text)]) }

  private func message(_ title: String, _ text: String) -> [HTML] {
    [self.title(title), .p(.code(id.text), class: "lead"), .p(.text(text))]
  }

  private func table(_ app: BundleId, _ transactions: [TransactionFacts]) -> HTML {
    .table(
      "Bought in \(app) with the order \(id)", ["Transaction", "Product", "Bought", "Taken back", "Purchase here"],
      transactions.map { facts in
        let key = facts.purchase(of: publisherId)
        return [
          .code(facts.transactionId.text), .text(facts.productId.text), view.time(facts.purchaseDate),
          view.time(facts.revocationDate, otherwise: "no"),
          known[key] == nil
            ? .span("not known here", class: "none")
            : .link(view.link(to: key), key.originalTransactionId.text),
        ]
      })
  }

  private var hint: HTML {
    guard purchases.contains(where: { known[$0] == nil }) else { return .nothing }
    return .p(
      .text(
        "A purchase that is not known here gives no access: the app has not registered it. Ask the customer to restore "
          + "purchases in the app."))
  }
}
