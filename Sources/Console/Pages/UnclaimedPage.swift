import Domain
import Formats
import JSON
import Ledger

/// Purchases that somebody paid, and that nobody has.
struct UnclaimedPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<ConsoleUnclaimed.Purchase>()

  /// Whose purchases it shows: production's, unless somebody chooses.
  var environment: Environment { question.filters["environment"].map { Environment($0) } ?? .production }

  private var page: ListPage { ListPage(view: view, list: .unclaimed, question: question, next: found.next) }

  var html: Document {
    page.html(
      lead: "Somebody paid, and no customer has the purchase. The first customer who registers it gets it: "
        + "ask the customer to restore purchases in the app.",
      filters: [
        ListPage.field(
          "environment", "Environment", [("", "Production"), (Environment.sandbox.text, "Sandbox")],
          chosen: question.filters["environment"] ?? "")
      ], table: found.rows.isEmpty ? nil : table,
      empty:
        "Each purchase has an owner, or is over. A purchase is here if Apple reports it and no app registers it.",
      soFar:
        "The \(ConsoleUnclaimed.window * ConsoleUnclaimed.mostWindows) purchases that this page looked through are "
        + "over. Go on with the next page.")
  }

  private var table: HTML {
    .all([
      .table(
        "What is paid and not over, the last payment first",
        ["Last paid", "Bought", "Paid until", "Product", "Price", "Purchase", "Owner before"],
        found.rows.map { purchase in
          [
            view.time(purchase.paidAt), view.time(purchase.boughtAt),
            view.time(purchase.expiresAt, otherwise: "no end"),
            .text(purchase.productId.text), .text(PurchasePage.price(purchase.price, purchase.currency)),
            view.purchase(purchase.key),
            .span(purchase.hadOwner ? "released, or erased" : "nobody", class: "none"),
          ]
        }),
      .p(
        .text(
          "If the customer says that it is restored and the purchase is still here, the app sends no transaction: "
            + "look for the customer, and at the registrations in the timeline."), class: "lead"),
    ])
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows) { purchase, writer in
      writer.member("boughtAt", rfc3339(milliseconds: purchase.boughtAt))
      writer.member("currency", purchase.currency)
      writer.member("environment", purchase.key.environment)
      writer.member("expiresAt", purchase.expiresAt.map { rfc3339(milliseconds: $0) })
      writer.member("hadOwner", purchase.hadOwner)
      writer.member("originalTransactionId", purchase.key.originalTransactionId)
      writer.member("page", view.link(to: purchase.key).address)
      writer.member("paidAt", rfc3339(milliseconds: purchase.paidAt))
      writer.member("priceThousandths", purchase.price)
      writer.member("productId", purchase.productId)
      writer.publisher(purchase.key.publisherId)
    }
  }
}
