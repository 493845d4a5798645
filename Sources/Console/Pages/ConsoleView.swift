import Domain

/// What every page needs to know: where it stands, who reads it, and when.
struct ConsoleView: Sendable {
  /// The path before all pages.
  let prefix: String
  let person: ConsolePerson
  /// Milliseconds since 1970.
  let now: Int64
  /// Whether people can play lives in the simulator.
  var playsLives = false
  /// Whether the console's script may read the page again.
  var canBeReadAgain = true
  /// What was not done, if the page answers a form.
  var refused: RefusedAction?

  func link(_ segments: [String], query: [(name: String, value: String)] = []) -> Link {
    Link(prefix, segments, query: query)
  }

  func link(to customer: CustomerKey) -> Link { link(customer.page) }

  func link(to purchase: PurchaseKey) -> Link { link(purchase.page) }

  /// A purchase's id with a link to the page, and a mark if it is none of production's.
  func purchase(_ key: PurchaseKey) -> HTML {
    .all([.link(link(to: key), key.originalTransactionId.text), mark(of: key)])
  }

  /// Says that a purchase is none of production's.
  func mark(of key: PurchaseKey) -> HTML {
    key.environment == .production
      ? .nothing : .all([.text(" "), .span(key.environment.text, class: "mark test")])
  }

  /// A customer's id with a link to the page, or what stands in its place for who may not see it.
  func customer(_ key: CustomerKey) -> HTML {
    person.role.seesPersonalData ? .link(link(to: key), key.id.text) : .span("hidden from viewers", class: "none")
  }

  /// A time behind `until` or `since`: a distance reads wrong there.
  func clock(_ time: Int64) -> HTML {
    .element(
      .time, [.of(.datetime, ConsoleTime.machine(time)), .title(ConsoleTime.exact(time))],
      [.text(ConsoleTime.minute(time))])
  }

  func time(_ time: Int64?, otherwise: String = "–") -> HTML { .time(time, now: now, otherwise: otherwise) }
}

extension CustomerKey {
  /// The segments of the page's address.
  var page: [String] { ["customers", "\(publisherId)", id.text] }
}

extension PurchaseKey {
  /// The segments of the page's address.
  var page: [String] { ["purchases", "\(publisherId)", environment.text, originalTransactionId.text] }
}
