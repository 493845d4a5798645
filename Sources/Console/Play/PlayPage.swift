import Domain
import Ledger

/// Where a person begins a life in the simulator.
struct PlayPage {
  let view: ConsoleView
  /// The apps of the publishers that the person may see.
  let apps: [AppKey]
  var chosen = PlayForm()
  var refusal: String?

  var html: Document {
    Layout.page(
      "Play a life", view,
      [
        .element(.h1, [], [.text("Play a life")]),
        .p(
          .text(
            "Start a purchase in the simulator that stands in for Apple, and watch it renew, fail, recover and be "
              + "refunded. A month takes a minute, unless the simulator was started otherwise."), class: "lead"),
        .refusal(refusal),
        apps.isEmpty
          ? .p(.text("No publisher that you may see has an app."), class: "none") : form,
      ])
  }

  private var form: HTML {
    .element(
      .form, [.of(.method, "post"), .action(view.link(["play", "start"]))],
      [
        .element(
          .div, [.class("fields")],
          [
            .field(
              "app", "App",
              .select(
                "app",
                apps.map {
                  (value: "\($0.publisherId) \($0.bundleId)", words: "\($0.bundleId) of publisher \($0.publisherId)")
                }, chosen.app)),
            .field(
              "product", "Product",
              .select("product", SimulatedLives.products.map { (value: $0, words: $0) }, chosen.product)),
            .field(
              "customer", "For customer",
              .element(
                .input,
                [
                  .of(.id, "customer"), .of(.name, "customer"), .of(.value, chosen.customer), .of(.maxlength, "256"),
                  .of(.autocomplete, "off"), .of(.required, "required"),
                ])),
            .field(
              "grace", "If a renewal fails",
              .select(
                "grace",
                [("16", "a grace period of 16 days"), ("0", "access ends at once")].map { (value: $0.0, words: $0.1) },
                "\(chosen.graceDays)")),
          ]), .element(.button, [.of(.type, "submit")], [.text("Start")]),
      ])
  }
}

/// What a person chose for a life, by value.
struct PlayForm: Equatable {
  var app = ""
  var product = "monthly"
  var customer = ""
  var graceDays: Int64 = 16

  init() {}

  /// Reads the form; `nil` for one that no page of the console makes.
  init?(_ body: FormBody) {
    guard let app = body["app"], let product = body["product"], SimulatedLives.products.contains(product),
      let customer = body["customer"], let grace = body["grace"].flatMap({ Int64($0) }), [0, 16].contains(grace)
    else { return nil }
    (self.app, self.product, self.customer, graceDays) = (app, product, customer, grace)
  }

  /// The publisher's app; `nil` for a text that names none.
  var place: AppKey? {
    let parts = app.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let publisher = PublisherId(parts[0]) else { return nil }
    return AppKey(publisherId: publisher, bundleId: BundleId(String(parts[1])))
  }
}

/// A life that is played: what Apple would say, what the ledger says, and what may happen next.
struct LifePage {
  let view: ConsoleView
  let key: PurchaseKey
  /// Who shall have the purchase.
  let customer: CustomerId
  let life: PlayedLife
  /// `nil` until the simulator's first notification is applied.
  let purchase: Purchase?
  let isLive: Bool
  var refusal: String?

  /// With `live=1`, a browser without JavaScript loads the page again after so many seconds.
  static let seconds = LiveRegion.life.seconds

  static func address(_ key: PurchaseKey, _ customer: CustomerId, isLive: Bool, _ view: ConsoleView) -> Link {
    view.link(
      ["play", "\(key.publisherId)", key.originalTransactionId.text],
      query: [(name: "customer", value: customer.text)] + (isLive ? [(name: "live", value: "1")] : []))
  }

  var html: Document {
    Layout.page(
      "Life of \(life.id)", view,
      [
        .element(.p, [.class("above")], [.text("A life in the simulator, at publisher \(key.publisherId)")]),
        .element(.h1, [.class("id")], [.text(life.id.text)]),
        isLive ? live : .element(.noscript, [], [live]), .refusal(refusal),
        view.region(.life, .element(.div, [.class("verdicts")], [apple, ledger])), view.region(.choices, actions),
        view.region(.renewals, transactions),
      ])
  }

  private var live: HTML {
    .p(
      .link(
        Self.address(key, customer, isLive: !isLive, view),
        isLive ? "Stop loading the page again" : "Load again every \(Self.seconds) seconds"), class: "none")
  }

  private var apple: HTML {
    .element(
      .div, [.class("verdict \(life.hasAccess ? "yes" : "no")")],
      [
        .element(.h2, [], [.text("At Apple: \(life.state.words)")]),
        .facts([
          ("Product", .code(life.productId)), ("Access until", life.accessUntil.map { view.time($0) }),
          ("Renews", life.willRenew.map { .text($0 ? "yes" : "no") }),
          ("Next by itself", life.due.map { view.time($0) }),
        ]),
      ])
  }

  private var ledger: HTML {
    guard let purchase else {
      return .element(
        .div, [.class("verdict")],
        [
          .element(.h2, [], [.text("Here: not known yet")]),
          .p(.text("The simulator's notification comes within some seconds."), class: "none"),
        ])
    }
    let owner = purchase.owner.map { view.customer(key.customer($0.customerId)) }
    return .element(
      .div, [.class("verdict")],
      [
        .element(.h2, [], [.text(owner == nil ? "Here: nobody has it" : "Here: known")]),
        .facts([
          ("Owner", owner ?? .span("nobody: an app would register it now", class: "none")),
          ("Paid until", purchase.deciding.expiresDate.map { view.time($0) }),
          ("Page", .link(view.link(to: key), "the purchase, with its timeline")),
        ]), owner == nil ? give : .nothing,
      ])
  }

  /// An app would register the purchase. Here, a person gives it to the customer.
  private var give: HTML {
    guard view.person.role.acts else { return .nothing }
    return .element(
      .form, [.of(.method, "post"), .action(view.link(key.page + ["transfer"])), .class("inline")],
      [
        .hidden("step", "preview"), .hidden("to", customer.text),
        .element(.button, [.of(.type, "submit")], [.text("Give it to \(customer.text) …")]),
      ])
  }

  private var actions: HTML {
    guard view.person.role.acts, !life.actions.isEmpty else { return .nothing }
    return .section(
      "Let something happen",
      [
        .element(
          .div, [.class("buttons")],
          life.actions.map { action in
            .element(
              .form,
              [
                .of(.method, "post"),
                .action(view.link(["play", "\(key.publisherId)", key.originalTransactionId.text, action.rawValue])),
                .class("inline"),
              ],
              [
                .hidden("customer", customer.text), isLive ? .hidden("live", "1") : .nothing,
                .element(.button, [.of(.type, "submit"), .class("quiet")], [.text(action.words)]),
              ])
          })
      ])
  }

  private var transactions: HTML {
    .section(
      "Transactions",
      [
        .table(
          "The newest first", ["Transaction", "Bought", "Paid until", ""],
          life.transactions.suffix(50).reversed().map { one in
            [
              .code(one.id), view.time(one.purchasedAt), view.time(one.expiresAt),
              one.isRevoked ? .span("refunded", class: "mark bad") : .nothing,
            ]
          })
      ])
  }
}

extension PlayedLife.State {
  fileprivate var words: String {
    switch self {
    case .active: "active"
    case .grace: "in its grace period"
    case .billingRetry: "the payment fails"
    case .expired: "over"
    case .revoked: "refunded"
    case .upgraded: "replaced by another one"
    }
  }
}
