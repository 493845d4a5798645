import EventLoop
import Glibc

/// Writes structured log lines, one JSON object each, to standard error.
///
/// No secret, token or raw signature is ever a field.
public struct Log: Sendable {
  /// Levels, from the most to the least talkative.
  public enum Level: String, Sendable, Comparable, CaseIterable {
    case debug, info, warning, error

    public static func < (left: Level, right: Level) -> Bool {
      allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
  }

  /// A field's value.
  public enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)

    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a text from anything that describes itself, such as an error.
    public static func text(_ value: any CustomStringConvertible) -> Value { .string(value.description) }
    /// Creates a text from an error.
    public static func failure(_ error: any Error) -> Value { .string("\(error)") }
  }

  private let level: Level
  private let fields: [(String, Value)]

  /// Creates a log whose every line carries the fields.
  public init(level: Level, _ fields: KeyValuePairs<String, Value> = [:]) {
    self.level = level
    self.fields = fields.map { ($0.key, $0.value) }
  }

  private init(level: Level, fields: [(String, Value)]) {
    self.level = level
    self.fields = fields
  }

  /// Returns a log whose every line carries further fields.
  public func with(_ more: KeyValuePairs<String, Value>) -> Log {
    Log(level: level, fields: fields + more.map { ($0.key, $0.value) })
  }

  /// Logs what only somebody who looks for a fault wants to know.
  public func debug(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.debug, event, more) }
  /// Logs a change of state.
  public func info(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.info, event, more) }
  /// Logs what is being dealt with and may need somebody.
  public func warning(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.warning, event, more) }
  /// Logs what needs somebody.
  public func error(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.error, event, more) }

  private func write(_ level: Level, _ event: String, _ more: KeyValuePairs<String, Value>) {
    guard level >= self.level else { return }
    var line = "{\"time\":\"\(rfc3339(milliseconds: unixMilliseconds()))\",\"level\":\"\(level.rawValue)\",\"event\":"
    appendJSON(event, to: &line)
    for (key, value) in fields + more.map({ ($0.key, $0.value) }) {
      line += ",\"\(key)\":"
      switch value {
      case .string(let text): appendJSON(text, to: &line)
      case .int(let number): line += String(number)
      case .double(let number): line += number.isFinite ? String(number) : "null"
      case .bool(let flag): line += String(flag)
      }
    }
    line += "}\n"
    var bytes = Array(line.utf8)[...]
    // One write for one line: lines of several processes on one pipe do not mix up to 4 KiB.
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
      if written < 0 {
        if errno == EINTR { continue }
        return  // a log that nobody takes must not stop the work
      }
      bytes = bytes.dropFirst(written)
    }
  }
}

/// Formats milliseconds since 1970 as RFC 3339 in UTC.
public func rfc3339(milliseconds: Int64) -> String {
  var seconds = time_t(milliseconds / 1000)
  var parts = tm()
  gmtime_r(&seconds, &parts)
  func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let fraction = String(milliseconds % 1000 + 1000).dropFirst()
  let date = "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
  return "\(date)T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)Z"
}

/// Appends a text as a JSON string, RFC 8259 section 7.
private func appendJSON(_ text: String, to line: inout String) {
  line.append("\"")
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": line += "\\\""
    case "\\": line += "\\\\"
    case "\n": line += "\\n"
    case "\r": line += "\\r"
    case "\t": line += "\\t"
    case _ where scalar.value < 0x20:
      let digits = String(scalar.value, radix: 16)
      line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: line.unicodeScalars.append(scalar)
    }
  }
  line.append("\"")
}
