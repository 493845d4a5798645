import Domain
import Formats
import JSON
import Ledger

/// Who changed what, and when.
struct AuditPage {
  let view: ConsoleView
  let question: ListQuestion
  let names: AuditNames
  var found = ConsoleRows<ConsoleAudit.Entry>()

  /// The customer whose entries it shows; `nil` for all entries.
  var customer: CustomerId? { question.filters["customer"].map { CustomerId($0) } }

  /// The most bytes of the detail that the table shows. JSON has all.
  private static let mostOfDetail = 300

  private var page: ListPage { ListPage(view: view, list: .audit, question: question, next: found.next) }

  var html: Document {
    page.html(
      lead: "Every change that a token, a person, Apple or a policy made. Nobody can change an entry.",
      filters: view.person.role.seesPersonalData ? [field] : [], table: found.rows.isEmpty ? nil : table,
      empty: customer == nil
        ? "Nothing has changed yet. The first registration of a purchase makes the first entry."
        : "Nobody has changed this customer. Check that the id is complete: capitals count. What changes a purchase "
          + "stands under the purchase.")
  }

  private var field: HTML {
    .element(
      .label, [],
      [
        .text("Customer "),
        .element(
          .input,
          [
            .of(.name, "customer"), .of(.type, "text"), .of(.value, customer?.text ?? ""),
            .of(.maxlength, "\(CustomerId.longest)"), .of(.autocomplete, "off"),
          ]),
      ])
  }

  private var table: HTML {
    .table(
      "The newest first", ["When", "Publisher", "Who"] + (from ? ["From"] : []) + ["Did", "To", "Undo", "Detail"],
      found.rows.map { entry in
        [
          view.time(entry.at), entry.publisherId == 0 ? .span("none", class: "none") : .text("\(entry.publisherId)"),
          who(entry),
        ] + (from ? [names.address(in: entry).map(HTML.code) ?? .nothing] : []) + [
          .text(entry.action), subject(entry), undo(entry), detail(entry),
        ]
      })
  }

  /// Whether it says where people were.
  private var from: Bool { view.person.role.seesPersonalData }

  private func who(_ entry: ConsoleAudit.Entry) -> HTML {
    let name = names.name(in: entry).map { [.text(" "), HTML.span($0, class: "name")] } ?? []
    return .all([.text(entry.actor)] + name)
  }

  private func detail(_ entry: ConsoleAudit.Entry) -> HTML {
    let text = DetailWords.text(entry.detail)
    guard !text.isEmpty else { return .nothing }
    let start = JSONWriter.beginning(of: text, upTo: Self.mostOfDetail)
    return .span(start + (start.utf8.count < text.utf8.count ? " …" : ""), class: "detail")
  }

  // MARK: What it was done to

  private func subject(_ entry: ConsoleAudit.Entry) -> HTML {
    if entry.isAboutCustomer {
      let id = CustomerId(entry.subject)
      return id.isErased
        ? .span("erased", class: "none") : view.customer(CustomerKey(publisherId: entry.publisherId, id: id))
    }
    if let purchase = purchase(entry) { return view.purchase(purchase) }
    if entry.action.hasPrefix("refundRequest."), let transaction = member("transactionId", entry) {
      return .link(view.link(["find"], query: [("q", transaction)]), entry.subject)
    }
    if entry.action.hasPrefix("endpoint.") || entry.action.hasPrefix("event") {
      return .link(
        view.link(to: EndpointKey(publisherId: entry.publisherId, id: EndpointId(entry.subject))), entry.subject)
    }
    return .code(entry.subject)
  }

  private func purchase(_ entry: ConsoleAudit.Entry) -> PurchaseKey? {
    guard entry.action.hasPrefix("purchase."), let environment = member("environment", entry) else { return nil }
    return PurchaseKey(
      publisherId: entry.publisherId, environment: Environment(environment),
      originalTransactionId: OriginalTransactionId(entry.subject))
  }

  private func member(_ name: StaticString, _ entry: ConsoleAudit.Entry) -> String? {
    try? JSONObject(JSONText(entry.detail, limits: .own)).string(name)
  }

  /// The page that has the way back, if there is one.
  private func undo(_ entry: ConsoleAudit.Entry) -> HTML {
    guard view.person.role.acts else { return .nothing }
    let customer = CustomerId(entry.subject)
    if ["customer.granted", "customer.sandboxAccessSet"].contains(entry.action), !customer.isErased {
      return .link(view.link(to: CustomerKey(publisherId: entry.publisherId, id: customer)), "withdraw there")
    }
    if ["endpoint.disabled", "endpoint.enabled"].contains(entry.action) {
      let endpoint = EndpointKey(publisherId: entry.publisherId, id: EndpointId(entry.subject))
      return .link(
        view.link(to: endpoint), entry.action == "endpoint.disabled" ? "enable there" : "disable there")
    }
    guard entry.action != "purchase.checked", let purchase = purchase(entry) else { return .nothing }
    return .link(view.link(to: purchase), entry.action == "purchase.released" ? "transfer there" : "release there")
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows) { entry, writer in
      writer.member("action", entry.action)
      writer.member("actor", entry.actor)
      writer.member("at", rfc3339(milliseconds: entry.at))
      writer.member("detail", json: entry.detail.isEmpty ? nil : entry.detail)
      writer.member("from", names.address(in: entry))
      writer.member("id", "\(entry.id)")
      writer.member("name", names.name(in: entry))
      writer.publisher(entry.publisherId)
      if view.person.role.seesPersonalData || !entry.isAboutCustomer { writer.member("subject", entry.subject) }
    }
  }
}
