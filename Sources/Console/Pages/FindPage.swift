import Domain
import Formats
import JSON
import Ledger

/// What has an id, or how to look for one.
struct FindPage {
  let view: ConsoleView
  /// What the person looks for; empty at first.
  var text = ""
  var hits: [ConsoleHit] = []
  /// What Apple can be asked, if the text may be an order id.
  var question: OrderQuestion?

  /// What a text may be, by its form. An id is anybody's text, so it may always be a customer or a synchronization.
  static func kinds(of text: String, _ role: ConsoleRole) -> [ConsoleHit.Kind] {
    guard (1...512).contains(text.utf8.count), text.unicodeScalars.allSatisfy({ $0.value != 0 }) else { return [] }
    var kinds: [ConsoleHit.Kind] = []
    if role.seesPersonalData {
      kinds.append(.customer)
      if text.contains("@") { kinds.append(.email) }
    }
    if !text.contains("@") { kinds += [.purchase, .transaction] }
    return kinds + [.synchronization, .notification, .event, .delivery]
  }

  /// The page of the only thing that was found; `nil` if there is none or more than one, or if it has no page.
  ///
  /// Whoever registers a purchase chooses the synchronization's id, perhaps one that support is going to look for. So
  /// such a hit alone opens no page.
  var only: Link? {
    let links = hits.compactMap(subject)
    guard let first = links.first, links.count == hits.count, links.allSatisfy({ $0 == first }),
      hits.contains(where: { $0.kind != .synchronization })
    else { return nil }
    return first
  }

  /// The page that shows a hit.
  func link(_ hit: ConsoleHit) -> Link? {
    switch hit.kind {
    case .synchronization:
      view.link(to: SynchronizationsKey(publisherId: hit.publisherId, id: SynchronizationId(text)))
    default: subject(hit)
    }
  }

  /// The page that a hit alone opens: its own, or that of its customer or purchase.
  private func subject(_ hit: ConsoleHit) -> Link? {
    switch hit.kind {
    case .event, .delivery: return view.link(to: EventKey(publisherId: hit.publisherId, id: EventId(text)))
    case .notification:
      // The text may be the `webhook-id` of a notification that was passed on.
      let uuid = Delivery.notification(named: EventId(text))?.uuid ?? NotificationUUID(text)
      return view.link(to: NotificationKey(publisherId: hit.publisherId, uuid: uuid))
    case .customer, .email, .transaction, .purchase, .synchronization: return about(hit)
    }
  }

  /// The page of the customer or of the purchase.
  private func about(_ hit: ConsoleHit) -> Link? {
    if let customer = hit.customer, view.person.role.seesPersonalData, hit.purchase == nil {
      return view.link(to: CustomerKey(publisherId: hit.publisherId, id: customer))
    }
    return hit.purchase.map { view.link(to: $0) }
  }

  var html: Document {
    Layout.page(text.isEmpty ? "Find" : "Find \(text)", view, search: text, text.isEmpty ? Self.start : results)
  }

  private static var start: [HTML] {
    [
      .element(.h1, [], [.text("Find by any id")]),
      .p(.text("Type an id into the field above. It must be exact; the console guesses what it is."), class: "lead"),
      .table(
        "What the field takes", ["Id", "Where you find it"],
        [
          ("Customer", "the publisher's id of the customer, or the e-mail address"),
          ("Transaction", "Apple's transactionId or originalTransactionId, from the app or from a report"),
          ("Synchronization", "the correlation id of a registration, from the log of an app or of a backend"),
          ("Order", "the order id in the receipt that Apple sends by e-mail, such as MK5TTTVWJH; Apple is asked"),
          ("Notification", "Apple's notificationUUID"),
          ("Event", "the id of an event, or of a webhook or a notification that was passed on (webhook-id)"),
        ].map { [.text($0.0), .text($0.1)] }),
    ]
  }

  private var results: [HTML] {
    guard !hits.isEmpty else {
      return [
        .element(.h1, [], [.text("Nothing has this id")]),
        .p(.code(text), class: "lead"),
        .p(
          .text(
            "Check that the id is complete: the search is exact, and capitals count. A purchase is here once an app or "
              + "Apple has posted about it. You see only the publishers that you may see.")),
        question?.form(view) ?? .nothing,
      ]
    }
    return [
      .element(.h1, [], [.text(hits.count == 1 ? "One thing has this id" : "\(hits.count) things have this id")]),
      .table(
        "Found", ["What", "Publisher", "About", "Says"],
        hits.map { hit in
          let words = hit.purchase?.originalTransactionId.text ?? shown(hit.customer)
          let place = about(hit).map { HTML.link($0, words) } ?? .text(words)
          let about = hit.purchase.map { HTML.all([place, view.mark(of: $0)]) } ?? place
          return [
            link(hit).map { .link($0, hit.kind.rawValue) } ?? .text(hit.kind.rawValue), .text("\(hit.publisherId)"),
            about, .text(hit.detail ?? ""),
          ]
        }),
      hits.contains { $0.kind == .synchronization }
        ? .p(
          .text(
            "Whoever registers a purchase chooses the id of the synchronization. So look whether it is the customer "
              + "whom you mean."), class: "none") : .nothing,
    ]
  }

  private func shown(_ customer: CustomerId?) -> String {
    guard let customer else { return "" }
    return view.person.role.seesPersonalData ? customer.text : "hidden from viewers"
  }

  /// The same as JSON.
  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("hits", hits) { hit, writer in
        if view.person.role.seesPersonalData { writer.member("customerId", hit.customer) }
        writer.member("detail", hit.detail)
        writer.member("environment", hit.purchase?.environment)
        writer.member("kind", hit.kind.rawValue)
        writer.member("originalTransactionId", hit.purchase?.originalTransactionId)
        writer.member("page", link(hit)?.address)
        writer.publisher(hit.publisherId)
      }
    }
  }
}
