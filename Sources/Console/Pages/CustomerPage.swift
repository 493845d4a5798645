import Domain
import Formats
import JSON
import Ledger

/// A customer: what the customer may use now and why, then everything behind it.
struct CustomerPage {
  let view: ConsoleView
  let customer: CustomerKey
  var email: String?
  let rules: AccessRules
  /// The customer's last sandbox access by hand, also one that is over.
  var lastSandbox: SandboxOverride?
  let holdings: CustomerPurchases
  /// Every purchase with all its transactions, the consumables too. One more than ``mostPurchases`` says that there are
  /// more.
  let purchases: [Purchase]
  let timeline: ConsoleTimeline.Reading
  /// What Apple charges next for purchases that renew.
  var charges: [PurchaseKey: NextCharge] = [:]

  /// The most lines of the timeline, and the most purchases.
  static let mostMoments = 60
  static let mostPurchases = 50

  var entitlements: [OfferEntitlement] {
    Entitlements.of(purchases: holdings.purchases, grants: holdings.grants, rules: rules, now: view.now)
  }

  /// The offers that two subscriptions or more give at once, and will be charged for again.
  var paidTwice: [OfferId] {
    let live = holdings.purchases.compactMap { purchase -> OfferId? in
      let access = Access.of(purchase, rules: rules, now: view.now)
      let isLive = access.isGranted && access.willRenew == true && purchase.deciding.kind == .autoRenewable
      return isLive ? access.offerId : nil
    }
    return Dictionary(grouping: live) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
  }

  private func name(_ offer: OfferId) -> String { rules.offers.name(of: offer) }

  var html: Document {
    Layout.page(
      "Customer \(customer.id)", view, search: customer.id.text,
      [
        .element(.p, [.class("above")], [.text("Customer of publisher \(customer.publisherId)")]),
        .element(.h1, [.class("id")], [.text(customer.id.text)]),
        email.map { .p(.text($0), class: "lead") } ?? .nothing,
        view.region(.access, .all([sandbox.line] + verdict)), view.region(.purchases, purchaseTable), grantTable,
        sandbox.html, timelineTable, personForms,
      ])
  }

  /// The end of the sandbox access by hand that is in force.
  private var sandboxUntil: Int64? { lastSandbox.flatMap { $0.state(at: view.now) == .open ? $0.endsAt : nil } }

  private var sandbox: SandboxSection {
    SandboxSection(
      view: view, customer: customer, isAllowed: rules.allowsSandbox, last: lastSandbox)
  }

  // MARK: The verdict

  private var verdict: [HTML] {
    let entitlements = entitlements
    var pieces = paidTwice.map { offer in
      HTML.element(
        .p, [.class("flag"), .of(.role, "status")],
        [
          .element(.strong, [], [.text("Pays twice for \(name(offer)). ")]),
          .text(
            "Two subscriptions run and renew. Only the customer can cancel one, in the settings of the Apple Account."),
        ])
    }
    if entitlements.isEmpty {
      pieces.append(
        .element(
          .div, [.class("verdict no")],
          [
            .element(.h2, [], [.text("No access")]),
            .p(
              .text(
                "This customer has no purchase and no grant. If the customer has paid, look for the transaction: it may "
                  + "belong to somebody else, or no app has sent it.")),
          ]))
    }
    return pieces + [.element(.div, [.class("verdicts")], entitlements.map(card))]
  }

  private func card(_ entitlement: OfferEntitlement) -> HTML {
    let renews = entitlement.willRenew == true && !entitlement.billingProblem
    let headline: [HTML] =
      entitlement.accessGranted
      ? [.text("Has access")]
        + (entitlement.expiresAt.map { [.text(renews ? ", renews " : ", ends "), view.time($0)] } ?? [
          .text(" for ever")
        ])
      : [.text("No access")] + (entitlement.expiresAt.map { [.text(", ended "), view.time($0)] } ?? [])
    var marks: [HTML] = []
    if entitlement.billingProblem { marks.append(.span("billing problem", class: "mark bad")) }
    if let renews = entitlement.willRenew, entitlement.accessGranted {
      marks.append(renews ? .span("will renew", class: "mark good") : .span("will not renew", class: "mark"))
    }
    if entitlement.environment != .production { marks.append(.span(entitlement.environment.text, class: "mark test")) }
    let because: HTML? =
      entitlement.purchase.map { .link(view.link(to: $0), "purchase \($0.originalTransactionId)") }
      ?? entitlement.grant.map { .code("grant \($0)") }
    return .element(
      .div, [.class(entitlement.accessGranted ? "verdict yes" : "verdict no")],
      [
        .element(.p, [.class("above")], [.text(name(entitlement.offerId))]), .element(.h2, [], headline),
        .element(.p, [.class("marks")], marks), .p(.text(entitlement.rule.words)),
        .facts([
          ("Because of", because), ("Rule", .code(entitlement.rule.rawValue)),
          (
            "Deciding transaction",
            entitlement.purchase.flatMap { key in holdings.purchases.first { $0.key == key } }
              .map { .code($0.deciding.transactionId.text) }
          ), ("Next charge", entitlement.purchase.flatMap { charges[$0] }?.html(view)), ("As of", view.time(view.now)),
        ]),
        entitlement.rule.advice.map { .p(.text("Tell the customer: “\($0)”"), class: "advice") } ?? .nothing,
      ])
  }

  // MARK: What is behind it

  private var purchaseTable: HTML {
    guard !purchases.isEmpty else {
      return .section("Purchases", [.p(.text("No purchase has this customer as its owner."), class: "none")])
    }
    return .section(
      "Purchases",
      [
        .table(
          "Every purchase that the customer owns, the newest first",
          ["Purchase", "Product", "State", "Bought", "Ends"] + (view.person.role.acts ? ["Change"] : []),
          purchases.sorted { $0.deciding.purchaseDate > $1.deciding.purchaseDate }.prefix(Self.mostPurchases).map {
            purchase in
            let access = Access.of(purchase, rules: rules, now: view.now)
            return [
              view.purchase(purchase.key), .text(purchase.deciding.productId.text),
              .span(access.rule.rawValue, class: access.isGranted ? "mark good" : "mark"),
              view.time(purchase.deciding.originalPurchaseDate ?? purchase.deciding.purchaseDate),
              view.time(access.expiresAt, otherwise: "never"),
            ] + (view.person.role.acts ? [changes(purchase.key)] : [])
          }), purchases.count > Self.mostPurchases ? .olderNotShown : .nothing,
      ])
  }

  private func changes(_ purchase: PurchaseKey) -> HTML {
    let id = purchase.originalTransactionId
    return .all([
      .begin("Ask Apple …", view.link(toCheckOf: purchase), label: "Ask Apple about purchase \(id)"),
      .begin("Transfer …", view.link(toTransferOf: purchase), label: "Transfer purchase \(id)"),
    ])
  }

  private var grantTable: HTML {
    let gives = view.person.role.acts && !rules.offers.all.isEmpty
    guard gives || !holdings.grants.isEmpty else { return .nothing }
    let fields = GrantFields(view: view, customer: customer, offers: rules.offers.all)
    return .section("Grants by hand", [view.region(.grants, grants), gives ? fields.html : .nothing])
  }

  private var grants: HTML {
    guard !holdings.grants.isEmpty else { return .nothing }
    return .table(
      "Access that a person gave", ["Grant", "Offer", "Reason", "Note", "Given", "Ends", "Change"],
      holdings.grants.map { grant in
        [
          .code(grant.id.text), .text(name(grant.offerId)), .text(grant.reason.rawValue), .text(grant.note ?? ""),
          view.time(grant.createdAt), view.time(grant.endsAt), withdrawal(grant),
        ]
      })
  }

  private func withdrawal(_ grant: Grant) -> HTML {
    guard view.person.role.acts, grant.state(at: view.now) == .open else { return .nothing }
    return .begin("Withdraw …", view.link(toWithdrawalOf: grant.id, customer), label: "Withdraw grant \(grant.id)")
  }

  private var timelineTable: HTML {
    let log = view.link(
      [ConsoleList.audit.rawValue], query: [("publisher", "\(customer.publisherId)"), ("customer", customer.id.text)])
    return .section(
      "Timeline",
      [
        view.person.role.acts ? NoteForm.html(customer, view) : .nothing, view.region(.timeline, moments),
        .element(.p, [.class("pages")], [.link(log, "Who changed this customer")]),
      ])
  }

  private var moments: HTML {
    var pieces: [HTML] = []
    if !timeline.missing.isEmpty {
      pieces.append(.unread("Of the timeline, \(timeline.missing.map { "\($0.rawValue)s" }.joined(separator: ", "))"))
    }
    if !timeline.moments.isEmpty {
      pieces.append(
        .timeline(
          "What happened, the newest first", timeline.moments, view, of: customer.publisherId))
    } else if timeline.missing.isEmpty {
      pieces.append(.p(.text("Nothing has happened yet. The first line is a registration."), class: "none"))
    }
    if timeline.hasMore { pieces.append(.olderNotShown) }
    return .all(pieces)
  }

  /// What the customer may ask for as a person.
  private var personForms: HTML {
    guard view.person.role.acts else { return .nothing }
    let erasure = view.person.role.erases ? [HTML.begin("Erase …", view.link(toErasureOf: customer))] : []
    return .section("Personal data", [.begin("Export …", view.link(toExportOf: customer))] + erasure)
  }

  // MARK: JSON

  /// A compact card for helpdesks.
  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("asOf", rfc3339(milliseconds: view.now))
      writer.member("customerId", customer.id)
      writer.member("customerVersion", holdings.version)
      writer.member("entitlements", entitlements) { entitlement, writer in
        writer.member("accessGranted", entitlement.accessGranted)
        writer.member("billingProblem", entitlement.billingProblem)
        writer.member("environment", entitlement.environment)
        writer.member("expiresAt", entitlement.expiresAt.map { rfc3339(milliseconds: $0) })
        writer.member("grantId", entitlement.grant)
        if let charge = entitlement.purchase.flatMap({ charges[$0] }) {
          writer.member("nextCharge") { writer in
            writer.member("at", rfc3339(milliseconds: charge.at))
            writer.member("currency", charge.currency)
            writer.member("price", charge.price)
          }
        }
        writer.member("offerId", entitlement.offerId)
        writer.member("originalTransactionId", entitlement.purchase?.originalTransactionId)
        writer.member("rule", entitlement.rule.rawValue)
        writer.member("willRenew", entitlement.willRenew)
      }
      writer.member("page", view.link(to: customer).address)
      writer.member("paysTwice", array: paidTwice.map { JSONWriter.text($0.text) })
      writer.publisher(customer.publisherId)
      writer.member("sandboxAccessUntil", sandboxUntil.map { rfc3339(milliseconds: $0) })
      writer.member("timeline", timeline.moments) { $1.moment($0) }
      writer.member("timelineHasMore", timeline.hasMore)
      writer.member("timelineMissing", array: timeline.missing.map { JSONWriter.text($0.rawValue) })
    }
  }
}
