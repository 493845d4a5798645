import Domain
import EventLoop
import Formats
import HTTPServer
import JSON

/// Reads the members of a JSON object one by one, and refuses unknown members.
///
/// Otherwise the gateway would take a misspelt member for one that the client left out.
struct BodyReader {
  /// The place of the object in the body, with a dot at the end. It is empty for the body itself.
  private let place: String
  private let members: [ExactText: JSONValue]

  /// Accepts a value that must be an object.
  ///
  /// - Parameter wanted: the members that a refusal names; `nil` means all known members.
  /// - Throws: ``Problem``: 400 REQ0001 with the name of the wrong member, as every function here does.
  init(
    _ value: JSONValue, at place: String = "", knows names: [String], naming wanted: [String]? = nil
  ) throws(Problem) {
    guard case .object(let members) = value else {
      throw .invalidBody(place.isEmpty ? "expected a JSON object" : "\(place): expected an object")
    }
    self.place = place.isEmpty ? "" : place + "."
    self.members = members
    // The alphabetically first one, so that the same body gets the same answer.
    if let unknown = members.keys.filter({ key in !names.containsExactly(key.text) }).min()?.text {
      let expected = (wanted ?? names).joined(separator: ", ")
      throw .invalidBody("\(self.place)\(unknown.prefix(100)): is not known; expected \(expected)")
    }
  }

  /// Whether the object has a member. The member may be `null`.
  func has(_ name: String) -> Bool { members[name] != nil }

  /// Whether the object has a member that is `null`.
  func isNull(_ name: String) -> Bool { members[name] == .null }

  /// A problem with a member.
  func problem(_ name: String, _ expected: String) -> Problem { .invalidBody("\(place)\(name): \(expected)") }

  /// A text; `nil` if the client left it out. As in ``RequestObject``, there is none without a limit.
  func text(_ name: String, _ limit: TextLimit) throws(Problem) -> String? {
    guard let value = members[name] else { return nil }
    guard case .string(let text) = value else { throw problem(name, "expected a text") }
    guard limit.admits(text) else { throw problem(name, "expected \(limit)") }
    return text
  }

  /// A whole number in a range; `nil` if the client left it out.
  func integer(_ name: String, _ range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let value = members[name] else { return nil }
    guard case .integer(let number) = value, range.contains(number) else {
      throw problem(name, "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A number; `nil` if the client left it out.
  func number(_ name: String, _ expected: String) throws(Problem) -> Double? {
    switch members[name] {
    case nil: return nil
    case .integer(let number): return Double(number)
    case .number(let number): return number
    default: throw problem(name, expected)
    }
  }

  /// True or false; `nil` if the client left it out.
  func flag(_ name: String) throws(Problem) -> Bool? {
    guard let value = members[name] else { return nil }
    guard case .bool(let flag) = value else { throw problem(name, "expected true or false") }
    return flag
  }

  /// One of several texts; `nil` if the client left it out.
  func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
  where Choice.RawValue == String {
    try choice(name, of: Choice.allCases.map(\.rawValue)) { Choice(rawValue: $0) }
  }

  /// One of several named values; `nil` if the client left it out.
  ///
  /// - Parameter find: returns the value with a name.
  func choice<Choice>(
    _ name: String, of names: [String], _ find: (String) -> Choice?
  ) throws(Problem) -> Choice? {
    guard let value = members[name] else { return nil }
    guard case .string(let text) = value, let choice = find(text) else {
      throw problem(name, "expected one of \(names.joined(separator: ", "))")
    }
    return choice
  }

  /// One of the known formats of webhooks; `nil` if the client left it out.
  func format(_ name: String, _ doors: DoorCatalog) throws(Problem) -> WebhookEndpoint.Format? {
    try choice(name, of: doors.formats.map(\.rawValue)) { doors.format(named: $0) }
  }

  /// A list; `nil` if the client left it out.
  func list(_ name: String, _ expected: String) throws(Problem) -> [JSONValue]? {
    guard let value = members[name] else { return nil }
    guard case .array(let elements) = value else { throw problem(name, expected) }
    return elements
  }

  /// A nested object; `nil` if the client left it out.
  func object(_ name: String, knows names: [String]) throws(Problem) -> BodyReader? {
    guard let value = members[name] else { return nil }
    return try BodyReader(value, at: place + name, knows: names)
  }
}
