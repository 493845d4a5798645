import AppleCalls
import Domain
import Formats

/// What Apple says about a purchase, beside what the ledger has, and a button that lets a worker apply it.
struct PurchaseReplyPage {
  let view: ConsoleView
  let purchase: Purchase
  let reply: PurchaseReply
  /// Those of the owner.
  let rules: AccessRules

  var status: Int {
    switch reply {
    case .told, .unknown: 200
    case .failed(.busy): 429
    case .failed: 503
    }
  }

  /// The seconds after which the person may ask again; `nil` after an answer.
  var retryAfter: Int? {
    switch reply {
    case .told, .unknown: nil
    case .failed(let obstacle): obstacle.retryAfter
    }
  }

  var html: Document {
    let key = purchase.key
    return Layout.page(
      "Ask Apple: purchase \(key.originalTransactionId)", view, search: key.originalTransactionId.text,
      [.element(.p, [.class("above")], [.text(TransferPreview.above(key))])] + content)
  }

  private var content: [HTML] {
    switch reply {
    case .told(let evidence):
      let difference = PurchaseDifference(purchase, evidence, rules: rules, now: view.now)
      return difference.rows.isEmpty ? same : told(difference)
    case .unknown:
      return [
        title("Apple does not know the purchase"),
        .p(
          .text(
            "So there is nothing to apply: the ledger keeps what Apple has signed before. One of Apple's servers may "
              + "lag behind. Ask again in some minutes.")), back,
      ]
    case .failed(let obstacle):
      let (heading, words) = Self.words(obstacle)
      return [
        title(heading), .p(.text(words)),
        .p(
          .text("Or let a worker do it: it asks Apple until Apple answers, and applies the answer without a preview.")),
        form("Synchronize it"), .p(.text(ActionPreview.noteOfAccess), class: "none"),
      ]
    }
  }

  private func title(_ text: String) -> HTML { .element(.h1, [], [.text(text)]) }

  private var back: HTML {
    .element(.p, [.class("pages")], [.link(view.link(to: purchase.key), "Back to the purchase")])
  }

  private func form(_ button: String) -> HTML {
    .confirm(view.link(toCheckOf: purchase.key), button: button, back: view.link(to: purchase.key))
  }

  private var same: [HTML] {
    [
      title("Apple says the same"),
      .p(.text("Apple has just signed what the ledger has already. There is nothing to apply.")), back,
    ]
  }

  private func told(_ difference: PurchaseDifference) -> [HTML] {
    let (now, after) = difference.access
    return [
      title("Apple says something else"),
      .element(
        .div, [.class(after.isGranted ? "verdict yes" : "verdict no")],
        [
          .element(.h2, [], [.text(Self.effect(now.isGranted, after.isGranted))]), .p(.text(after.rule.words)),
        ]),
      .table(
        "What a worker would change", ["What", "Now", "As Apple says"],
        difference.rows.map { [.text($0.name), cell($0.now), cell($0.after)] }),
      .p(
        .text(
          "Nothing has changed yet. Apply it, and a worker asks Apple again within some seconds, and commits what "
            + "Apple says then.")), form("Apply it"), .p(.text(ActionPreview.noteOfAccess), class: "none"),
    ]
  }

  private static func effect(_ now: Bool, _ after: Bool) -> String {
    switch (now, after) {
    case (true, false): "The purchase would no longer give access"
    case (false, true): "The purchase would give access"
    case (true, true): "The purchase gives access, before and after"
    case (false, false): "The purchase gives no access, before and after"
    }
  }

  private func cell(_ value: PurchaseDifference.Value) -> HTML {
    switch value {
    case .nothing: .span("–", class: "none")
    case .text(let text): .text(text)
    case .id(let id): .code(id)
    // The distance would not tell two times of one day apart.
    case .time(let time): .text(ConsoleTime.exact(time))
    case .access(let standing): access(standing)
    }
  }

  private func access(_ standing: PurchaseDifference.Standing) -> HTML {
    let end = standing.until.map { ConsoleTime.exact($0) }
    let words =
      standing.isGranted
      ? end.map { "access until \($0)" } ?? "access for ever" : end.map { "no access, ended \($0)" } ?? "no access"
    return .all([
      .p(.text(standing.offer.map { "\($0): \(words)" } ?? words)), .code(standing.rule.rawValue),
    ])
  }

  /// What stands in the way, and what to do.
  private static func words(_ obstacle: AppleObstacle) -> (heading: String, words: String) {
    switch obstacle {
    case .busy:
      ("Too many calls to Apple", "The calls that Apple allows for the app are used up. Ask again in a moment.")
    case .away(let app):
      ("Apple did not answer", "The call for the app \(app) failed. Ask again in a moment.")
    case .keyRefused(let app):
      (
        "Apple refuses the key",
        "Tell an operator that privateKeyFile, keyId or issuerId of the app \(app) is wrong. Ask again after that."
      )
    case .unverified(let app):
      (
        "Apple's answer cannot be used",
        "The answer for the app \(app) does not have Apple's form or signature, or does not name the purchase. If it "
          + "stays so, tell an operator: the console's log has the cause."
      )
    }
  }
}

extension AppleObstacle {
  /// The seconds after which somebody may ask again.
  var retryAfter: Int {
    switch self {
    case .busy(let wait): max(1, Int(clamping: wait.components.seconds.adding(1)))
    case .away, .keyRefused, .unverified: 5
    }
  }
}
