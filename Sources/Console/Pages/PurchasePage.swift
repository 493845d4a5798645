import Domain
import Ledger

/// A purchase: its state, its life as a picture, and what Apple signed about it.
struct PurchasePage {
  let view: ConsoleView
  let record: PurchaseRecord
  let rules: AccessRules
  /// The newest first; `nil` if they could not be read. One more than ``most`` says that there are more.
  let notifications: [ConsoleMoment]?
  /// `nil` if it could not be read. One more than ``most`` says that there is more.
  let evidence: [ConsoleEvidence]?
  var timer: Timers.State?
  /// What customers asked Apple about it.
  var requests: [RefundRequest] = []
  /// The offers of the publisher: their policies answer.
  var policies = OfferCatalog([])

  /// The most pieces of each list.
  static let most = 25

  var purchase: Purchase { record.purchase }
  var access: Access { Access.of(purchase, rules: rules, now: view.now) }
  /// The newest first.
  var transactions: [TransactionFacts] { Self.newest(purchase) }

  /// A purchase's transactions, the newest first.
  static func newest(_ purchase: Purchase, atMost count: Int = .max) -> [TransactionFacts] {
    let all = purchase.transactions.values.sorted {
      ($1.purchaseDate, $1.transactionId) < ($0.purchaseDate, $0.transactionId)
    }
    return Array(all.prefix(count))
  }

  var html: Document {
    let (key, access) = (purchase.key, access)
    let state: [HTML] = [.text(access.isGranted ? "Gives access" : "Gives no access")]
    let end = access.expiresAt.map { [.text(access.isGranted ? ", ends " : ", ended "), view.time($0)] } ?? []
    return Layout.page(
      "Purchase \(key.originalTransactionId)", view, search: key.originalTransactionId.text,
      [
        .element(.p, [.class("above")], [.text("Purchase at publisher \(key.publisherId)")]),
        .element(.h1, [.class("id")], [.text(key.originalTransactionId.text)]),
        view.region(
          .verdict,
          .element(
            .div, [.class(access.isGranted ? "verdict yes" : "verdict no")],
            [
              .element(.p, [.class("above")], [.text(purchase.deciding.productId.text)]),
              .element(.h2, [], state + end), .p(.text(access.rule.words)), facts(access), buttons,
            ]), LifePicture(purchase, owners: record.ownerships, now: view.now).html),
        view.region(.transactions, transactionTable),
        view.region(.requests, requestTable), view.region(.owners, ownerTable),
        view.region(.notifications, notificationTable), signed,
      ])
  }

  private func facts(_ access: Access) -> HTML {
    let renewal = purchase.presentRenewal
    let token = view.person.role.seesPersonalData ? purchase.deciding.appAccountToken : nil
    return .facts([
      ("Owner", owner), ("Rule", .code(access.rule.rawValue)),
      ("Deciding transaction", .code(purchase.deciding.transactionId.text)),
      ("Environment", .text(purchase.key.environment.text)), ("App", .code(purchase.deciding.bundleId.text)),
      ("Renews", renewal?.willRenew.map { .text($0 ? "yes" : "no") }),
      ("Next product", renewal?.nextProductId.map { .code($0.text) }),
      ("Billing", access.billingProblem ? .text("Apple could not charge, and tries again") : nil),
      ("Grace period", renewal?.graceExpiresDate.map { view.time($0) }),
      ("Account token", token.map { .code($0.text) }), ("Version", .text("\(purchase.version)")),
      ("A worker looked at it last", timer?.lookedAt.map { view.time($0) }),
      ("It looks again", timer?.dueAt.map { $0 <= view.now ? .text("at once") : view.time($0) }),
    ])
  }

  private var buttons: HTML {
    guard view.person.role.acts else { return .nothing }
    let key = purchase.key
    return .element(
      .div, [.class("buttons")],
      [
        .begin("Ask Apple …", view.link(toCheckOf: key)),
        .begin("Transfer …", view.link(toTransferOf: key)),
      ] + (purchase.owner == nil ? [] : [.begin("Release …", view.link(toReleaseOf: key))]))
  }

  private var owner: HTML {
    guard let id = record.ownerships.last(where: { $0.endedAt == nil })?.customerId else {
      return .span("nobody", class: "none")
    }
    return view.customer(purchase.key.customer(id))
  }

  private var transactionTable: HTML {
    .section(
      "Transactions",
      [
        .table(
          "The newest first", ["Transaction", "Product", "Begins", "Ends", "Price", "Signed", "Marks"],
          transactions.prefix(Self.most).map { facts in
            [
              .code(facts.transactionId.text), .text(facts.productId.text), view.time(facts.purchaseDate),
              view.time(facts.expiresDate), .text(Self.price(facts.price, facts.currency)), view.time(facts.signedDate),
              .all(marks(facts)),
            ]
          }),
        transactions.count > Self.most
          ? .p(.text("\(transactions.count - Self.most) older ones are not shown."), class: "none") : .nothing,
      ])
  }

  private func marks(_ facts: TransactionFacts) -> [HTML] {
    var marks: [HTML] = []
    if facts.transactionId == purchase.deciding.transactionId { marks.append(.span("decides", class: "mark good")) }
    if let revoked = facts.revocationDate {
      marks.append(.element(.span, [.class("mark bad")], [.text("refunded "), view.time(revoked)]))
    }
    if facts.isUpgraded { marks.append(.span("upgraded", class: "mark")) }
    if let discount = facts.offerDiscountType { marks.append(.span(discount, class: "mark")) }
    if let type = facts.ownershipType, type != "PURCHASED" { marks.append(.span(type, class: "mark")) }
    return marks
  }

  /// The price as Apple signs it, in thousandths of the currency.
  static func price(_ price: Int64?, _ currency: CurrencyCode?) -> String {
    guard let price, price >= 0, let currency else { return "" }
    // Few currencies have thousandths.
    let digits = "\(1000 + price % 1000)".dropFirst()
    return "\(price / 1000).\(digits.hasSuffix("0") ? digits.dropLast() : digits) \(currency)"
  }

  private var requestTable: HTML { RefundRequestsPage.section(requests, policies, view) }

  private var ownerTable: HTML {
    guard !record.ownerships.isEmpty else {
      return .section(
        "Owners", [.p(.text("Nobody has owned it. The first customer who registers it gets it."), class: "none")])
    }
    return .section(
      "Owners",
      [
        .table(
          "Who owned it, the newest last", ["Customer", "Began", "Ended", "Because of"],
          record.ownerships.map { period in
            [
              period.customerId.map { view.customer(purchase.key.customer($0)) }
                ?? .span("erased", class: "none"), view.time(period.beganAt),
              view.time(period.endedAt, otherwise: "owns it"), .text(period.cause),
            ]
          })
      ])
  }

  private var notificationTable: HTML {
    guard let notifications else { return .section("Notifications", [.unread("Notifications")]) }
    guard !notifications.isEmpty else {
      return .section(
        "Notifications",
        [
          .p(
            .text("Apple has posted nothing about it. It posts within minutes after a new purchase."),
            class: "none")
        ])
    }
    return .section(
      "Notifications",
      [
        .timeline(
          "What Apple posted, the newest first", Array(notifications.prefix(Self.most)), view,
          of: purchase.key.publisherId), notifications.count > Self.most ? .olderNotShown : .nothing,
      ])
  }

  private var signed: HTML {
    guard view.person.role.seesPersonalData else {
      return .section("Signed data", [.p(.text("Hidden from viewers: it may name the customer."), class: "none")])
    }
    guard let evidence else { return .section("Signed data", [.unread("Signed data")]) }
    return .section(
      "Signed data",
      evidence.prefix(Self.most).map { piece in
        .element(
          .details, [],
          [
            .element(
              .summary, [],
              [
                .text("\(piece.kind), signed "), view.time(piece.signedAt),
                .span(" from \(piece.source)", class: "none"),
              ]), .element(.pre, [.of(.tabindex, "0")], [.text(PrettyJSON.text(piece.payload))]), Self.raw(piece),
          ])
      } + (evidence.count > Self.most ? [.olderNotShown] : [])
        + (evidence.isEmpty ? [.p(.text("No signed data is kept."), class: "none")] : []))
  }

  /// The text that Apple signed, for somebody who checks the signature.
  private static func raw(_ piece: ConsoleEvidence) -> HTML {
    guard let jws = piece.jws else { return .nothing }
    return .element(
      .details, [],
      [
        .element(.summary, [], [.text("As Apple signed it (JWS)")]),
        .element(.pre, [.of(.tabindex, "0")], [.text(jws)]),
      ])
  }
}
