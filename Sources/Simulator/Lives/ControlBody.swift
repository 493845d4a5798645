import Formats
import JSON

/// The members of a control call's body. A member that nobody asks for is refused, because it may be a typing error.
struct ControlBody {
  private let members: [ExactText: JSONValue]
  private var asked: Set<ExactText> = []

  /// Reads a body; none is as good as an empty object.
  init(_ bytes: [UInt8]) throws(ControlRefusal) {
    guard !bytes.isEmpty else {
      members = [:]
      return
    }
    guard let text = try? JSONText(bytes), let value = try? text.decoded(as: JSONValue.self),
      case .object(let members) = value
    else { throw .mistake("the body is not a JSON object") }
    self.members = members
  }

  private init(_ members: [ExactText: JSONValue]) { self.members = members }

  mutating func text(_ key: String) throws(ControlRefusal) -> String? {
    guard let value = take(key) else { return nil }
    guard case .string(let text) = value else { throw .mistake("\(key) is not a text") }
    return text
  }

  mutating func flag(_ key: String) throws(ControlRefusal) -> Bool? {
    guard let value = take(key) else { return nil }
    guard case .bool(let flag) = value else { throw .mistake("\(key) is neither true nor false") }
    return flag
  }

  mutating func integer(_ key: String, _ range: ClosedRange<Int64>) throws(ControlRefusal) -> Int64? {
    guard let value = take(key) else { return nil }
    guard case .integer(let number) = value, range.contains(number) else {
      throw .mistake("\(key) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  mutating func number(_ key: String, _ range: ClosedRange<Double>) throws(ControlRefusal) -> Double? {
    guard let value = take(key) else { return nil }
    let number: Double? =
      switch value {
      case .integer(let number): Double(number)
      case .number(let number): number
      default: nil
      }
    guard let number, range.contains(number) else {
      throw .mistake("\(key) is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Seconds, in whole milliseconds.
  mutating func seconds(_ key: String, _ range: ClosedRange<Double>) throws(ControlRefusal) -> Int64? {
    try number(key, range).map { Int64(($0 * 1000).rounded()) }
  }

  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String, of type: Choice.Type = Choice.self
  ) throws(ControlRefusal) -> Choice? {
    guard let text = try text(key) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw .mistake("\(key) is not one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }

  mutating func texts(_ key: String) throws(ControlRefusal) -> [String]? {
    guard let value = take(key) else { return nil }
    guard case .array(let elements) = value else { throw .mistake("\(key) is not a list of texts") }
    var texts: [String] = []
    for element in elements {
      guard case .string(let text) = element else { throw .mistake("\(key) is not a list of texts") }
      texts.append(text)
    }
    return texts
  }

  mutating func object(_ key: String) throws(ControlRefusal) -> ControlBody? {
    guard let value = take(key) else { return nil }
    guard case .object(let members) = value else { throw .mistake("\(key) is not an object") }
    return ControlBody(members)
  }

  /// A transaction id.
  mutating func transactionId(_ key: String) throws(ControlRefusal) -> String? {
    guard let id = try text(key) else { return nil }
    guard id.isASCIIDigits(1...20) else { throw .mistake("\(key) is not 1 to 20 digits") }
    return id
  }

  /// Refuses the members that no call has asked for.
  func end() throws(ControlRefusal) {
    if let stranger = members.keys.filter({ !asked.contains($0) }).min() {
      throw .mistake("\(stranger.text) means nothing here")
    }
  }

  private mutating func take(_ key: String) -> JSONValue? {
    asked.insert(ExactText(key))
    guard let value = members[key], value != .null else { return nil }
    return value
  }
}
