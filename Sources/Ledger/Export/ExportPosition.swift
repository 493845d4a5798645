import JSON

/// What a line of an export is about. An export has the kinds in this order.
public enum ExportKind: String, CaseIterable, Sendable, Comparable, Decodable {
  case customer, purchase, grant, sandboxAccess, event, audit

  private var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  public static func < (one: ExportKind, other: ExportKind) -> Bool { one.place < other.place }
}

/// Where a line stands: the lines of a kind are in the order of their keys.
public struct ExportPosition: Sendable, Equatable, Decodable {
  public let kind: ExportKind
  /// A customer's or a grant's id, or that of the customer with the sandbox access; environment and purchase; the two
  /// numbers of an event; an entry's number.
  public let key: [String]

  /// Creates a position.
  public init(_ kind: ExportKind, _ key: [String]) { (self.kind, self.key) = (kind, key) }

  /// Writes the members that each line begins with.
  func write(to writer: inout JSONWriter) {
    writer.member("kind", kind.rawValue)
    writer.member("key", array: key.map(JSONWriter.text))
  }
}

/// The moment that an export shows.
public struct ExportMoment: Sendable, Equatable, Decodable {
  /// The first transaction of PostgreSQL's that had not ended. All older ones are in the export.
  public let snapshot: Int64
  /// The history that the transaction's number belongs to. A restore or a failover begins another one.
  public let history: String
  /// As RFC 3339, for people.
  public let at: String

  /// Creates a moment.
  public init(snapshot: Int64, history: String, at: String) {
    (self.snapshot, self.history, self.at) = (snapshot, history, at)
  }

  func write(to writer: inout JSONWriter) {
    writer.member("at", at)
    writer.member("history", history)
    writer.member("snapshot", snapshot)
  }
}
