import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

@testable import Console

/// Whatever strangers, customers and publishers write, every page of the console shows as text.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleMarkupTests {
  private typealias Fields = [(name: String, value: String)]
  private static let (preview, confirm): (Fields, Fields) = (
    [(name: "step", value: "preview")], [(name: "step", value: "confirm")]
  )
  private static let publisher = RunningFleet.publisher

  private static func address(_ segments: [String], _ query: Fields = []) -> String {
    Link("", segments, query: query).address
  }

  private static let customer = CustomerKey(publisherId: publisher, id: CustomerId(MarkedField.customer.text))
  private static let purchase = PurchaseKey(
    publisherId: publisher, environment: .production, originalTransactionId: OriginalTransactionId(MarkupFleet.life))
  private static let endpoint = EndpointKey(publisherId: publisher, id: EndpointId(MarkedField.endpoint.text))
  private static let life = ["play", "\(publisher)", MarkupFleet.life]

  private func withMarkup(_ body: @LoopActor (MarkupFleet, ConsoleTests.Browser) async throws -> Void) async throws {
    let (console, name) = (ConsoleTests(), MarkedField.person.text)
    try await WebhookReceiver.with { receiver async throws in
      try await console.withConsole(
        ["COUNTERSIGN_CONSOLE_PLAYS_LIVES": "true", "COUNTERSIGN_APP_STORE_BUDGET_SCALE": "100"],
        beside: ["gateway-1", "worker-1", "notifier-1"], overrides: MarkupFleet.overrides,
        admitting: [(name: name, role: "operator", publishers: "*")],
        prepare: { try MarkupFleet(fleet: $0, receiver: receiver).prepare() }
      ) { fleet async throws in
        // Apple fails, and endpoints do.
        fleet.mayRepair = true
        let marked = MarkupFleet(fleet: fleet, receiver: receiver)
        try await marked.live()
        try await marked.manage()
        try await marked.bury()
        try await body(marked, try await console.signIn(fleet, name))
      }
    }
  }

  /// The pages with something on them, by their addresses.
  private func addresses(_ fleet: RunningFleet) async throws -> [String] {
    let told = try await fleet.finished([MarkedField.correlation.text])
    let event = try #require(told.first { $0.synchronizationId == MarkedField.correlation.text }).id
    let notifications = try await fleet.texts("SELECT uuid AS text FROM notifications ORDER BY uuid")
    let named = try await fleet.texts("SELECT id AS text FROM webhook_endpoints ORDER BY id")
    let customer = [(name: "customer", value: MarkedField.customer.text)]
    let searched: [MarkedField] = [.customer, .email, .correlation, .deadId, .search]
    let searches = searched.map { Self.address(["find"], [(name: "q", value: $0.text)]) }
    let test = [
      (name: "publisher", value: "1001"), (name: "app", value: "com.example.app"),
      (name: "environment", value: "Production"), (name: "token", value: Markup.text("token")),
    ]
    let publisher = "\(Self.publisher)"
    var pages: [[String]] = [
      [], Self.customer.page, ["customers", publisher, "7"], Self.purchase.page, Self.endpoint.page,
      ["events", publisher, event], ["synchronizations", publisher, MarkedField.correlation.text],
      ["synchronizations", publisher, MarkedField.waiting.text], ["play"],
      // Nothing has this id, and the page must not say it.
      ["events", publisher, Markup.text("no event")],
    ]
    pages += notifications.map { ["notifications", publisher, $0] }
    pages += named.map { ["endpoints", publisher, $0] }
    pages += ConsoleList.allCases.map { [$0.rawValue] }
    let filters = [
      ("dead", "kind", "deliveries"), ("dead", "kind", "notifications"), ("notifications", "state", "aside"),
    ]
    let filtered = filters.map { Self.address([$0.0], [(name: $0.1, value: $0.2)]) }
    return pages.map { Self.address($0) } + filtered + searches + [
      Self.address(["audit"], customer), Self.address(["unclaimed"], [(name: "publisher", value: "1001")]),
      Self.address(Self.life, customer), Self.address(["notifications", "tested"], test),
      Self.address(["sign-in"], [(name: "next", value: MarkedField.next.text)]),
    ]
  }

  /// Does what leaves a person's words, and asks Apple about an order.
  private func act(_ walk: MarkupWalk, _ browser: ConsoleTests.Browser) async throws {
    let (form, customer) = (ConsoleTests.Form(fleet: browser.fleet, browser: browser), Self.customer.page)
    let text = [(name: "text", value: MarkedField.note.text)]
    let asked = try await form.post(Self.address(customer + ["notes"]), text + Self.preview)
    let note = [(name: "noteId", value: try ConsoleTests().hidden("noteId", asked.text))]
    #expect(try await form.post(Self.address(customer + ["notes"]), text + note + Self.confirm).status == 303)
    let tomorrow = String(Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10))
    let sandbox = [
      (name: "until", value: tomorrow), (name: "reason", value: "testing"),
      (name: "note", value: MarkedField.sandboxNote.text),
    ]
    #expect(try await form.post(Self.address(customer + ["sandbox"]), sandbox + Self.confirm).status == 303)
    let order = [(name: "publisher", value: "1001"), (name: "order", value: "M1000000000001M1100000000009")]
    try await walk.post("/orders", order)
    try await walk.post("/orders", [order[0], (name: "order", value: Markup.text("order"))])
  }

  /// Posts what no link and no button of a page leads to with these words.
  private func post(_ walk: MarkupWalk) async throws {
    let to = [(name: "to", value: "7")]
    try await walk.post(Self.address(Self.purchase.page + ["transfer"]), to + Self.preview)
    let since = [(name: "since", value: "2020-01-01")]
    try await walk.post(Self.address(Self.endpoint.page + ["recover"]), since + Self.preview)
    try await walk.post(Self.address(Self.endpoint.page + ["recover"]), [(name: "since", value: MarkupWalk.typed)])
    let cause = [(name: "cause", value: "apple_error"), (name: "publisher", value: "")]
    try await walk.post("/synchronizations/retry", cause + Self.preview)
    let customer = [(name: "customer", value: MarkedField.customer.text)]
    try await walk.post(Self.address(Self.life + ["recover"]), customer)
    let stranger = [(name: "customer", value: MarkupWalk.typed), (name: "grace", value: "0")]
    try await walk.post(
      "/play/start", stranger + [(name: "app", value: "1001 com.example.app"), (name: "product", value: "monthly")])
    try await walk.post(Self.address(Self.customer.page + ["erase"]), [(name: "customerId", value: MarkupWalk.typed)])
    let signIn = [
      (name: "name", value: MarkedField.signInName.text), (name: "password", value: Markup.text("password")),
    ]
    try await walk.post("/sign-in", signIn + [(name: "next", value: MarkedField.next.text)])
  }

  @Test func `markup in any field is text on every page`() async throws {
    try await withMarkup { marked, browser async throws in
      let walk = MarkupWalk(browser)
      try await act(walk, browser)
      try await eventually("the endpoint has failed to the end") {
        let page = Self.address(Self.endpoint.page, [(name: "outcome", value: "abandoned")])
        return try await browser.get(page).text.contains(">abandoned</span>")
      }
      try await marked.wait()
      let addresses = try await addresses(marked.fleet)
      for address in addresses { try await walk.visit(address) }
      try await post(walk)
      try await walk.follow()
      #expect(walk.faults == [])
      // What is never done here has no page of its own: the simulator does it, or says why not.
      let refused: Set<ConsolePageKind> = [.action(.startLife), .action(.apply)]
      #expect(Set(ConsolePageKind.all).subtracting(walk.good) == refused)
      for field in MarkedField.all {
        let shown = Markup.shown(field.text)
        for kind in field.pages {
          let isShown = walk.sources[kind, default: []].contains { $0.contains(shown) }
          #expect(isShown, "\(kind) shows \(field.text)")
        }
        for kind in field.twins {
          let isTold = walk.texts[kind, default: []].contains(ExactText(field.text))
          #expect(isTold, "\(kind) tells \(field.text)")
        }
      }
      for name in ["ada", "vic"] {
        let other = MarkupWalk(try await ConsoleTests().signIn(marked.fleet, name))
        for address in addresses { try await other.visit(address) }
        #expect(other.faults == [], "\(name)")
      }
    }
  }
}
