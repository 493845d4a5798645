import Crypto
import EventLoop
import Formats
import JSON

/// Writes structured log lines to standard error, one JSON object each.
///
/// A field never holds a secret, a token or a raw signature. A customer is a ``Value/customer(_:of:)``: the id may be
/// an e-mail address, and no erasure reaches a line that is written.
public struct Log: Sendable {
  /// Levels, from the most to the least talkative.
  public enum Level: String, Sendable, Comparable {
    case debug, info, warning, error

    public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .debug: 0
      case .info: 1
      case .warning: 2
      case .error: 3
      }
    }
  }

  /// How lines name customers.
  public enum Customers: String, Sendable, CaseIterable {
    /// By `CustomerDigest.short(of:of:)`. The ledger has it behind `erased:` in rows that an erasure leaves.
    case hash
    /// By their ids.
    case plain
    /// Not at all.
    case none
  }

  /// A field's value.
  public enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    /// The id of a publisher's customer. The line has it as the setting `log.customers` says.
    case customer(String, of: Int64)

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
  private let customers: Customers
  /// The members of every line, with a comma before each.
  private let members: [UInt8]

  /// Creates a log that adds these fields to every line.
  public init(level: Level, customers: Customers = .hash, _ fields: KeyValuePairs<String, Value> = [:]) {
    self = Log(level: level, customers: customers, members: []).with(fields)
  }

  private init(level: Level, customers: Customers, members: [UInt8]) {
    self.level = level
    self.customers = customers
    self.members = members
  }

  /// How many lines of the loop this process has dropped, because nobody took them.
  @LoopActor public static var droppedLines: Int { LogLines.process.dropped }

  /// Returns a log that adds further fields to every line.
  public func with(_ more: KeyValuePairs<String, Value>) -> Log {
    var writer = JSONWriter()
    writer.raw(members)
    for (name, value) in more { writer.further(name, value, customers) }
    return Log(level: level, customers: customers, members: writer.bytes)
  }

  /// Logs a detail that helps only in the search for a fault.
  public func debug(_ event: String, _ more: @autoclosure () -> KeyValuePairs<String, Value> = [:]) {
    // This level is rarely on, so the caller's fields are not even made.
    if level <= .debug { write(.debug, event, more()) }
  }
  /// Logs a change of state.
  public func info(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.info, event, more) }
  /// Logs a problem that the program handles, and that may need a person.
  public func warning(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.warning, event, more) }
  /// Logs a problem that needs a person.
  public func error(_ event: String, _ more: KeyValuePairs<String, Value> = [:]) { write(.error, event, more) }

  private func write(_ level: Level, _ event: String, _ more: KeyValuePairs<String, Value>) {
    guard level >= self.level else { return }
    var writer = JSONWriter()
    writer.raw("{\"time\":\"")
    writer.raw(rfc3339(milliseconds: unixMilliseconds()))
    writer.raw("\",\"level\":\"")
    writer.raw(level.rawValue)
    writer.raw("\",\"event\":")
    writer.string(event)
    writer.raw(members)
    for (name, value) in more { writer.further(name, value, customers) }
    writer.raw("}\n")
    let line = writer.bytes
    if EventLoop.process.isCurrent {
      LoopActor.assumeIsolated(with: (line, level >= .warning)) { LogLines.process.add($0, isUrgent: $1) }
    } else {
      // A line of another thread does not wait either.
      _ = StandardError.process.write(line[...])
    }
  }
}

extension JSONWriter {
  /// Writes a member of a log line that already has one. It leaves an empty text out, since that tells nothing.
  fileprivate mutating func further(_ name: String, _ value: Log.Value, _ customers: Log.Customers) {
    switch value {
    case .string(let text) where text.isEmpty: return
    // A job whose caller named no user has an empty id.
    case .customer(let id, _) where id.isEmpty || customers == .none: return
    default: break
    }
    raw(UInt8(ascii: ","))
    string(name)
    raw(UInt8(ascii: ":"))
    switch value {
    case .string(let text): string(text)
    case .int(let number): raw(String(number))
    case .double(let number): raw(number.isFinite ? String(number) : "null")
    case .bool(let flag): raw(String(flag))
    case .customer(let id, let publisher):
      string(customers == .plain ? id : CustomerDigest.short(of: id, of: publisher))
    }
  }
}
