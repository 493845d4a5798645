@testable import Console

/// A field that a stranger, a customer, a publisher or a person of the console fills in, and the pages that show it.
struct MarkedField: Sendable {
  let text: String
  /// Each of these kinds has a page that shows the text.
  let pages: [ConsolePageKind]
  /// Each of these kinds has a twin in JSON that tells the text.
  let twins: [ConsolePageKind]

  private init(_ text: String, _ pages: [ConsolePageKind], twins: [ConsolePageKind] = []) {
    (self.text, self.pages, self.twins) = (text, pages, twins)
  }

  // MARK: What customers and their apps fill in

  static let customer = MarkedField(
    Markup.text("customer"),
    [
      .page(.customer), .page(.purchase), .page(.event), .page(.synchronization), .page(.life), .list(.audit),
      .list(.refundRequests), .action(.give), .action(.erase), .action(.transfer),
    ], twins: [.page(.customer), .page(.purchase), .page(.synchronization), .list(.audit), .list(.refundRequests)])
  static let email = MarkedField(Markup.text("email") + "@example.com", [.page(.customer)])
  static let correlation = MarkedField(
    Markup.ascii("correlation"), [.page(.synchronization), .page(.customer)],
    twins: [.page(.synchronization), .page(.customer)])
  static let waiting = MarkedField(
    Markup.ascii("waiting"), [.list(.synchronizations), .page(.synchronization), .action(.retry)],
    twins: [.list(.synchronizations)])

  // MARK: What publishers fill in

  static let product = MarkedField(
    "com.example.app." + Markup.text("product"),
    [.page(.purchase), .page(.customer), .page(.life), .list(.refundRequests)],
    twins: [.page(.purchase), .list(.refundRequests)])
  static let offer = MarkedField(Markup.text("offer"), [], twins: [.page(.customer), .list(.configuration)])
  static let offerName = MarkedField(Markup.text("offer name"), [.page(.customer), .action(.give)])
  static let appleOffer = MarkedField(Markup.unquoted("appleOffer"), [.page(.purchase)])
  static let endpoint = MarkedField(
    Markup.text("endpoint"), [.page(.endpoint), .page(.event), .list(.endpoints), .action(.resend), .action(.test)],
    twins: [.page(.endpoint), .list(.endpoints)])
  static let endpointName = MarkedField(
    Markup.text("endpoint name"), [.page(.endpoint), .list(.endpoints)], twins: [.list(.endpoints)])
  static let endpointURL = MarkedField(
    Markup.query("url"), [.page(.endpoint), .list(.endpoints)])
  static let answer = MarkedField(
    Markup.text("answer"), [.page(.endpoint), .page(.event)], twins: [.page(.endpoint), .page(.event)])
  static let keyId = MarkedField(Markup.text("key"), [.list(.configuration)], twins: [.list(.configuration)])
  static let file = MarkedField("\"><img src=x onerror=alert(1)>'&.json", [.list(.configuration)])
  static let grantNote = MarkedField(Markup.text("grant note"), [.page(.customer)])
  static let importCause = MarkedField(Markup.text("import"), [.list(.imports)], twins: [.list(.imports)])

  // MARK: What comes in signed, or from a queue

  static let notification = MarkedField(
    Markup.text("type"), [.page(.notification), .page(.purchase), .list(.notifications)],
    twins: [.page(.notification), .list(.notifications)])
  static let subtype = MarkedField(
    Markup.text("subtype"), [.page(.notification), .list(.notifications)], twins: [.page(.notification)])
  static let asideReason = MarkedField(
    Markup.text("aside"), [.page(.notification), .list(.dead)], twins: [.list(.dead)])
  static let refundReason = MarkedField(
    Markup.text("refund reason"), [.page(.purchase), .list(.refundRequests)], twins: [.list(.refundRequests)])
  static let refundError = MarkedField(Markup.text("refund error"), [.page(.purchase), .list(.refundRequests)])
  static let deadId = MarkedField(Markup.text("dead"), [.list(.dead)], twins: [.list(.dead)])
  static let deadReason = MarkedField(Markup.text("dead reason"), [.list(.dead)], twins: [.list(.dead)])
  static let deadEndpoint = MarkedField(Markup.text("dead endpoint"), [.list(.dead)], twins: [.list(.dead)])
  static let deadTopic = MarkedField(Markup.text("dead topic"), [.list(.dead)], twins: [.list(.dead)])
  static let deadCustomer = MarkedField(Markup.text("dead customer"), [.list(.dead)], twins: [.list(.dead)])

  // MARK: What people of the console fill in

  /// The frame of every page shows who reads it.
  static let person = MarkedField(
    Markup.ascii("person"), ConsolePageKind.all.filter { $0 != .page(.signIn) })
  static let note = MarkedField(Markup.text("note"), [.page(.customer)], twins: [.page(.customer)])
  static let sandboxNote = MarkedField(Markup.text("sandbox"), [.page(.customer)])
  static let typed = MarkedField(MarkupWalk.typed, [.action(.give), .action(.allowSandbox), .action(.note)])
  static let search = MarkedField(Markup.text("search"), [.page(.find)])
  static let signInName = MarkedField(Markup.ascii("name"), [.page(.signIn)])
  static let next = MarkedField("/" + Markup.ascii("next"), [.page(.signIn)])

  static let all = [
    customer, email, correlation, waiting, product, offer, offerName, appleOffer, endpoint, endpointName, endpointURL,
    answer, keyId, file, grantNote, importCause, notification, subtype, asideReason, refundReason, refundError, deadId,
    deadReason, deadEndpoint, deadTopic, deadCustomer, person, note, sandboxNote, typed, search, signInName, next,
  ]
}
