import Formats
import JSON

/// What an id token says, one claim at a time. A claim of another type than expected is none.
struct OpenIDClaims: Sendable, Equatable {
  let members: [ExactText: JSONValue]

  func text(_ name: String) -> String? {
    if case .string(let text)? = members[name] { text } else { nil }
  }

  /// A text, or a list of texts. A list with anything else is none.
  func texts(_ name: String) -> [String]? {
    switch members[name] {
    case .string(let text)?: return [text]
    case .array(let elements)?:
      let texts = elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
      return texts.count == elements.count ? texts : nil
    default: return nil
    }
  }

  /// A time in seconds since 1970, which may have a fraction (RFC 7519, section 2).
  func seconds(_ name: String) -> Int64? {
    switch members[name] {
    case .integer(let number)? where number.magnitude < 9_000_000_000_000_000: number
    case .number(let number)? where number.magnitude < 9e15: Int64(number)
    default: nil
    }
  }

  /// Whether a claim is true. Some providers write it as a text.
  func isTrue(_ name: String) -> Bool {
    members[name] == .bool(true) || members[name] == .string("true")
  }
}
