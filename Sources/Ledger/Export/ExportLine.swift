import Domain
import JSON

/// The lines of an export, each a JSON object. `kind` comes first (docs/reference/export.md).
public enum ExportLine {
  /// The version of the format. A reader refuses another one.
  public static let format: Int64 = 1

  /// The first line.
  static func begun(_ publisher: PublisherId, _ moment: ExportMoment) -> [UInt8] {
    JSONWriter.object { line in
      line.member("kind", "export")
      line.member("format", format)
      line.member("publisherId", publisher.number)
      line.member("moment", moment.write)
    }
  }

  /// The first line behind a break. The export goes on behind `position`, and first writes again what has changed.
  static func resumed(_ moment: ExportMoment, behind position: ExportPosition?) -> [UInt8] {
    JSONWriter.object { line in
      line.member("kind", "resumed")
      line.member("moment", moment.write)
      if let position { line.member("position") { position.write(to: &$0) } }
    }
  }

  /// Everything above is as it was at the moment of the line `resumed`.
  static let caughtUp = JSONWriter.object { $0.member("kind", "caughtUp") }

  /// The last line, with the number of lines of each kind.
  static func end(_ counts: [ExportKind: Int64]) -> [UInt8] {
    JSONWriter.object { line in
      line.member("kind", "end")
      line.member("lines") { lines in
        lines.member("audit", counts[.audit] ?? 0)
        lines.member("customer", counts[.customer] ?? 0)
        lines.member("event", counts[.event] ?? 0)
        lines.member("grant", counts[.grant] ?? 0)
        lines.member("purchase", counts[.purchase] ?? 0)
        lines.member("sandboxAccess", counts[.sandboxAccess] ?? 0)
      }
    }
  }

  /// The line of a thing.
  static func thing(
    _ position: ExportPosition, _ members: (inout JSONWriter) throws -> Void
  ) rethrows -> [UInt8] {
    try JSONWriter.object { line in
      position.write(to: &line)
      try members(&line)
    }
  }
}
