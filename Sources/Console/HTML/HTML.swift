import Formats

/// A piece of a page that is safe to send: only ``HTML/text(_:)`` and ``HTML/element(_:_:_:)`` make it.
///
/// There is no way to make one of a text as it is. So whatever a stranger writes into an id or an answer, a browser
/// shows it as text. Addresses are of the type ``Link``, which has no room for `javascript:`.
struct HTML: Sendable, Equatable {
  /// The piece as it goes out.
  let source: String
  /// Whether it has a region that the console's script reads again.
  let isLive: Bool

  private init(escaped source: String, isLive: Bool = false) { (self.source, self.isLive) = (source, isLive) }

  /// Nothing at all.
  static let nothing = HTML(escaped: "")

  /// A text, with each character that means something to a browser escaped.
  ///
  /// What turns the text behind it round becomes U+FFFD: with it, an id would look like another one. An attribute and
  /// a field of a form keep it, because a form sends back what it got.
  static func text(_ text: String) -> HTML {
    guard text.unicodeScalars.contains(where: turnsText) else { return HTML(escaped: escaped(text)) }
    var plain = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { plain.append(turnsText(scalar) ? "\u{fffd}" : scalar) }
    return HTML(escaped: escaped(String(plain)))
  }

  /// Pieces one behind the other.
  static func all(_ pieces: [HTML]) -> HTML {
    HTML(escaped: pieces.map(\.source).joined(), isLive: pieces.contains(where: \.isLive))
  }

  /// An element with its attributes and what it holds.
  static func element(_ tag: Tag, _ attributes: [Attribute] = [], _ children: [HTML] = []) -> HTML {
    var source = "<\(tag.rawValue)"
    for attribute in attributes { source += " \(attribute.name)=\"\(escaped(attribute.value))\"" }
    source += ">"
    if tag.isVoid { return HTML(escaped: source) }
    return HTML(
      escaped: source + children.map(\.source).joined() + "</\(tag.rawValue)>",
      isLive: attributes.contains(where: \.isLive) || children.contains(where: \.isLive))
  }

  /// A field of several lines with a text.
  static func textarea(_ attributes: [Attribute], _ text: String) -> HTML {
    // A browser drops a line feed at the beginning.
    element(.textarea, attributes, [HTML(escaped: "\n" + escaped(text))])
  }

  /// A whole page. If it has a live region, it gets the console's one script: nothing else makes such an element.
  ///
  /// - Parameter prefix: the path before all pages, which the configuration has checked.
  static func document(_ prefix: String, head: [HTML], body: [HTML]) -> Document {
    let isLive = body.contains(where: \.isLive)
    let address = Link(prefix, [ConsoleScript.name]).address
    let script = isLive ? [HTML(escaped: "<script src=\"\(escaped(address))\" defer></script>")] : []
    let page = element(.html, [.lang("en")], [element(.head, [], head + script), element(.body, [], body)])
    return Document(source: "<!DOCTYPE html>\n\(page.source)\n", isLive: isLive)
  }

  /// The same in an element, an attribute with quotes, and a title. Controls become U+FFFD: no text has them.
  private static func escaped(_ text: String) -> String {
    var source = ""
    source.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": source += "&amp;"
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "\"": source += "&quot;"
      case "'": source += "&#39;"
      case "\n", "\t": source.unicodeScalars.append(scalar)
      case _ where scalar.isControl: source += "\u{fffd}"
      default: source.unicodeScalars.append(scalar)
      }
    }
    return source
  }

  /// Whether a scalar embeds, overrides or isolates a direction of writing (UAX #9).
  private static func turnsText(_ scalar: Unicode.Scalar) -> Bool {
    (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
  }

  /// The elements of the console's pages. None of them holds a script or a style.
  enum Tag: String, CaseIterable {
    case a, body, br, button, caption, code, dd, details, div, dl, dt, footer, form, h1, h2, h3, head, header, html
    case input, label, li, link, main, meta, nav, noscript, p, pre, section, small, span, strong, summary, table, tbody
    case td, th, textarea, thead, time, title, tr, ul
    case select, option
    case svg, rect, line

    var isVoid: Bool { [.br, .input, .link, .meta].contains(self) }
  }
}

/// A whole page. Only ``HTML/document(_:head:body:)`` makes one.
struct Document: Sendable, Equatable {
  /// The page as it goes out.
  let source: String
  /// Whether it has the console's script.
  let isLive: Bool

  fileprivate init(source: String, isLive: Bool) { (self.source, self.isLive) = (source, isLive) }
}

/// An attribute of an element. Its name is one of these, so no handler of a script can be among them.
struct Attribute: Sendable, Equatable {
  fileprivate(set) var name: String
  fileprivate(set) var value: String
  fileprivate var isLive: Bool { name == "data-live" }

  /// The names whose values are plain text.
  enum Name: String, CaseIterable {
    case autocomplete, charset, content, datetime, `class`, `for`, height, id, lang, maxlength, method, name
    case placeholder, rel, role, scope, title, type, value, viewBox, width, x, x1, x2, y, y1, y2, rx
    case label = "aria-label"
    case current = "aria-current"
    case hidden = "aria-hidden"
    case autofocus, required, selected, open, preserveAspectRatio, tabindex
  }

  static func of(_ name: Name, _ value: String) -> Attribute { Attribute(name: name.rawValue, value: value) }
  static func `class`(_ names: String) -> Attribute { of(.class, names) }
  static func lang(_ language: String) -> Attribute { of(.lang, language) }
  static func title(_ text: String) -> Attribute { of(.title, text) }
  static func href(_ link: Link) -> Attribute { Attribute(name: "href", value: link.address) }
  static func action(_ link: Link) -> Attribute { Attribute(name: "action", value: link.address) }
  static func live(_ region: LiveRegion) -> Attribute { Attribute(name: "data-live", value: "\(region.seconds)") }
}
