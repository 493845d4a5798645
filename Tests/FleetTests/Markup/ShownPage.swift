import Formats

@testable import Console

/// A page of the console as a test reads it: strictly, so that whatever the console's own elements did not make is a
/// fault.
struct ShownPage {
  /// A form of the page, as a browser would post it.
  struct Form {
    var method = ""
    var action = ""
    var fields: [(name: String, value: String)] = []
    /// What a person fills in: the name of each field and its type.
    var asks: [(name: String, type: String)] = []
  }

  /// What no page may have, each with the source around it.
  private(set) var faults: [String] = []
  /// The addresses of its links.
  private(set) var links: [String] = []
  private(set) var forms: [Form] = []

  private static let start = "<!DOCTYPE html>\n"
  private static let tags = Set(HTML.Tag.allCases.map(\.rawValue))
  private static let names =
    Set(Attribute.Name.allCases.map(\.rawValue)).union(["href", "action", "data-live"])
  private static let void = Set(HTML.Tag.allCases.filter(\.isVoid).map(\.rawValue))
  /// The console's own script, which runs what no page says.
  private static let script = #"script src="/refresh.js" defer"#

  /// The elements that are not ended yet.
  private var outer: [String] = []
  private var form: Form?
  /// The name of the choice that the options belong to.
  private var choice: String?

  init(_ source: String) {
    guard source.hasPrefix(Self.start) else {
      faults.append("begins with \(source.prefix(40))")
      return
    }
    var rest = source.dropFirst(Self.start.count).unicodeScalars[...]
    while !rest.isEmpty {
      let text = rest.prefix { $0 != "<" }
      read(text: String(text))
      rest = rest.dropFirst(text.count)
      guard !rest.isEmpty else { break }
      // Between quotes, a browser goes on to the next quote. No such text of the console has the sign.
      guard let end = rest.firstIndex(of: ">") else {
        faults.append("an element has no end: \(String(rest).prefix(80))")
        return
      }
      read(tag: String(rest[rest.index(after: rest.startIndex)..<end]))
      rest = rest[rest.index(after: end)...]
    }
    if !outer.isEmpty { faults.append("have no end: \(outer)") }
  }

  // MARK: Text

  private mutating func read(text: String) {
    if let scalar = text.unicodeScalars.first(where: { Markup.turning.contains($0) || Self.isControl($0) }) {
      faults.append("a text has U+\(String(scalar.value, radix: 16)): \(text.prefix(80))")
    }
    check(text)
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
  }

  private mutating func check(_ text: String) {
    if text.unicodeScalars.contains(where: { $0 == ">" || $0 == "\"" || $0 == "'" || $0 == "<" }) {
      faults.append("a sign is not escaped: \(text.prefix(120))")
    }
    for part in text.split(separator: "&", omittingEmptySubsequences: false).dropFirst()
    where !["amp;", "lt;", "gt;", "quot;", "#39;"].contains(where: { part.hasPrefix($0) }) {
      faults.append("an & is not escaped: \(text.prefix(120))")
    }
  }

  /// The text that a browser reads.
  private static func text(_ source: String) -> String {
    source.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
      .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
  }

  // MARK: Elements

  private mutating func read(tag: String) {
    if tag == Self.script {
      outer.append("script")
      return
    }
    if tag.hasPrefix("/") {
      let name = String(tag.dropFirst())
      if outer.popLast() != name { faults.append("</\(name)> ends another element") }
      if name == "form", let form { forms.append(form) }
      if name == "form" { form = nil }
      if name == "select" { choice = nil }
      return
    }
    let name = String(tag.prefix { $0 != " " })
    guard Self.tags.contains(name) else {
      faults.append("a stranger's element: <\(tag.prefix(120))>")
      return
    }
    if !Self.void.contains(name) { outer.append(name) }
    note(name, attributes(String(tag.dropFirst(name.count)), of: name))
  }

  /// Reads ` name="value"`, as often as it stands there.
  private mutating func attributes(_ source: String, of tag: String) -> [String: String] {
    var (found, rest): ([String: String], Substring) = ([:], source[...])
    while !rest.isEmpty {
      let name = rest.dropFirst().prefix { $0 != "=" }
      let value = rest.dropFirst(name.count + 3).prefix { $0 != "\"" }
      let whole = " \(name)=\"\(value)\""
      guard rest.hasPrefix(whole), Self.names.contains(String(name)), found[String(name)] == nil else {
        faults.append("a stranger's attribute: <\(tag)\(source.prefix(120))>")
        return found
      }
      check(String(value))
      found[String(name)] = Self.text(String(value))
      rest = rest.dropFirst(whole.count)
    }
    for name in ["href", "action"] {
      guard let address = found[name] else { continue }
      let isOwn = address.hasPrefix("/") && !address.hasPrefix("//") && !address.contains("\\")
      if !isOwn { faults.append("\(name) leads away: \(address.prefix(120))") }
    }
    return found
  }

  private mutating func note(_ tag: String, _ attributes: [String: String]) {
    let name = attributes["name"]
    switch tag {
    case "a": if let address = attributes["href"] { links.append(address) }
    case "form": form = Form(method: attributes["method"] ?? "get", action: attributes["action"] ?? "")
    case "input":
      guard let name else { return }
      if attributes["type"] == "hidden" {
        form?.fields.append((name, attributes["value"] ?? ""))
      } else {
        form?.asks.append((name, attributes["type"] ?? "text"))
      }
    case "textarea": if let name { form?.asks.append((name, "text")) }
    case "select": choice = name
    case "option":
      guard let choice, let value = attributes["value"] else { return }
      let place = form?.fields.firstIndex { $0.name == choice }
      if let place, attributes["selected"] != nil { form?.fields[place].value = value }
      if place == nil { form?.fields.append((choice, value)) }
    default: break
    }
  }
}
