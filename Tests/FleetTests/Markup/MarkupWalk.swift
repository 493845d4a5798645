import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import JSON

@testable import Console

/// Walks through a console as somebody who follows every link and presses every button, and judges what comes back.
///
/// Only previews are asked for, so the walk changes nothing.
@LoopActor
final class MarkupWalk {
  private let browser: ConsoleTests.Browser
  /// What no answer may have, each with its address.
  private(set) var faults: [String] = []
  /// The pages that were seen, as their sources.
  private(set) var sources: [ConsolePageKind: [String]] = [:]
  /// The texts in the twins of pages in JSON.
  private(set) var texts: [ConsolePageKind: Set<ExactText>] = [:]
  /// The kinds with an answer of the status 200.
  private(set) var good: Set<ConsolePageKind> = []

  private var asked: Set<String> = []
  private var counts: [ConsolePageKind: Int] = [:]
  private var links: [String] = []
  private var forms: [ShownPage.Form] = []

  /// A kind's pages are alike. So many links to them are followed, and so many of their forms are sent.
  private static let most = 8

  /// What a person writes into a field.
  nonisolated static let typed = Markup.text("typed")

  init(_ browser: ConsoleTests.Browser) { self.browser = browser }

  // MARK: Addresses

  /// Reads a page and its twin in JSON.
  func visit(_ address: String) async throws {
    asked.insert(address)
    guard let kind = Self.kind(address) else { return faults.append("no page has the address \(address)") }
    read(try await send("GET", address), kind, "GET \(address)")
    if let twin = Self.twin(of: address) { read(twin: try await send("GET", twin), kind, "GET \(twin)") }
  }

  /// Posts a form.
  func post(_ address: String, _ fields: [(name: String, value: String)]) async throws {
    let body = fields.map { "\(PercentCoding.encoded($0.name))=\(PercentCoding.encoded($0.value))" }
    let headers = [(name: "Content-Type", value: "application/x-www-form-urlencoded")] + ConsoleTests.own
    let answer = try await send("POST", address, headers, body.joined(separator: "&"))
    guard let kind = Self.kind(address) else { return faults.append("no form goes to \(address)") }
    read(answer, kind, "POST \(address)")
  }

  /// Follows the links of what was read, and asks for the preview of each action, until there is nothing new.
  func follow() async throws {
    while !links.isEmpty || !forms.isEmpty {
      let (links, forms) = (links, forms)
      (self.links, self.forms) = ([], [])
      for link in links { try await visit(link) }
      for form in forms { try await post(form.action, Self.filledIn(form)) }
    }
  }

  private func send(
    _ method: String, _ address: String, _ headers: [(name: String, value: String)] = [], _ body: String? = nil
  ) async throws -> HTTPClientResponse {
    let url = browser.fleet.url(address, gateway: "console-1")
    return try await browser.fleet.send(method, url, [("Cookie", browser.cookie)] + headers, body)
  }

  /// The fields as a person fills them in: a day, and markup everywhere else.
  private static func filledIn(_ form: ShownPage.Form) -> [(name: String, value: String)] {
    let tomorrow = String(Date(timeIntervalSinceNow: 86_400).ISO8601Format().prefix(10))
    return form.fields + form.asks.map { ($0.name, $0.type == "date" ? tomorrow : typed) }
  }

  private static func route(_ address: String) -> ConsoleRoute? {
    let path = address.prefix { $0 != "?" }.split(separator: "/").map { PercentCoding.decoded($0) ?? "" }
    return ConsoleRoute(path)
  }

  private static func kind(_ address: String) -> ConsolePageKind? { route(address).flatMap(ConsolePageKind.init(_:)) }

  /// The address of a page's twin; `nil` if the route has none.
  private static func twin(of address: String) -> String? {
    let path = address.prefix { $0 != "?" }
    var segments = path.split(separator: "/").map(String.init)
    guard let first = segments.first else { return nil }
    segments[0] = first + ".json"
    let twin = "/" + segments.joined(separator: "/") + address.dropFirst(path.count)
    guard case .page(_, isJSON: true)? = route(twin) else { return nil }
    return twin
  }

  // MARK: Answers

  private func read(_ answer: HTTPClientResponse, _ kind: ConsolePageKind, _ what: String) {
    check(answer, what)
    if answer.status == 303 {
      // A form may lead to a page. A search with one hit does, too.
      if let location = answer.header("location") { take(link: location) }
      return
    }
    let type = answer.header("content-type") ?? "none"
    if type == "application/json" { return read(twin: answer, kind, what) }
    let source = String(decoding: answer.body, as: UTF8.self)
    // A browser that sniffs nothing shows it as it is.
    if type == "text/plain; charset=utf-8", answer.status != 200 { return }
    guard type == "text/html; charset=utf-8" else { return faults.append("\(what): has the type \(type)") }
    if answer.status == 200 { good.insert(kind) }
    sources[kind, default: []].append(source)
    let page = ShownPage(source)
    faults += page.faults.map { "\(what): \($0)" }
    page.links.forEach(take(link:))
    page.forms.forEach(take(form:))
  }

  private func read(twin answer: HTTPClientResponse, _ kind: ConsolePageKind, _ what: String) {
    check(answer, what)
    guard answer.status == 200 else { return }
    let type = answer.header("content-type") ?? "none"
    if type != "application/json" { faults.append("\(what): has the type \(type)") }
    // Whoever takes it for a page finds no element.
    if answer.body.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") }) {
      faults.append("\(what): has an element: \(String(decoding: answer.body.prefix(400), as: UTF8.self))")
    }
    guard let value: JSONValue = try? JSONText(answer.body, limits: .own).decoded() else {
      return faults.append("\(what): is not JSON: \(String(decoding: answer.body.prefix(400), as: UTF8.self))")
    }
    Self.collect(value, &texts[kind, default: []])
  }

  private static func collect(_ value: JSONValue, _ texts: inout Set<ExactText>) {
    switch value {
    case .string(let text): texts.insert(ExactText(text))
    case .array(let values): for value in values { collect(value, &texts) }
    case .object(let members): for value in members.values { collect(value, &texts) }
    default: break
    }
  }

  /// What each answer has, whatever it says.
  private func check(_ answer: HTTPClientResponse, _ what: String) {
    if answer.status >= 500 {
      let text = String(decoding: answer.body.prefix(400), as: UTF8.self)
      faults.append("\(what): \(answer.status) \(text)")
    }
    let isStrict = answer.header("content-security-policy")?.hasPrefix("default-src 'none'; style-src 'self'") == true
    if !isStrict { faults.append("\(what): has no policy") }
    if answer.header("x-content-type-options") != "nosniff" { faults.append("\(what): may be sniffed") }
  }

  // MARK: What comes next

  private func take(link: String) {
    guard let route = Self.route(link) else { return faults.append("a link leads nowhere: \(link)") }
    guard case .page(_, isJSON: false) = route, let kind = ConsolePageKind(route), !asked.contains(link),
      isWanted(kind)
    else { return }
    asked.insert(link)
    links.append(link)
  }

  private func take(form: ShownPage.Form) {
    guard form.method == "post", form.fields.contains(where: { $0.name == "step" && $0.value == "preview" }) else {
      return
    }
    let text = form.action + form.fields.map { " \($0.name)=\($0.value)" }.joined()
    guard let kind = Self.kind(form.action) else { return faults.append("a form goes nowhere: \(form.action)") }
    guard !asked.contains(text), isWanted(kind) else { return }
    asked.insert(text)
    forms.append(form)
  }

  private func isWanted(_ kind: ConsolePageKind) -> Bool {
    counts[kind, default: 0] += 1
    return counts[kind, default: 0] <= Self.most
  }
}
