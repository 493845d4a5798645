import JSON

/// How far a client has an export, as JSON: what ``ExportedSoFar`` reads out of the lines of a file.
public struct ExportCursor: Sendable, Equatable {
  /// Why a text is no cursor.
  public struct Unusable: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The moment that the lines show.
  public let moment: ExportMoment
  /// The last thing in the order of the export; `nil` if there is none yet.
  public let position: ExportPosition?
  /// How many lines of each kind there are.
  public let counts: [ExportKind: Int64]

  /// The most lines of a kind that a cursor can tell: their sum must be a number.
  private static let mostLines: Int64 = 1_000_000_000_000

  private struct Members: Decodable {
    let moment: ExportMoment
    let position: ExportPosition?
    let lines: [String: Int64]?
  }

  /// Reads the text of a stranger.
  ///
  /// - Throws: ``Unusable``.
  public init(_ text: String) throws(Unusable) {
    let members: Members
    do {
      members = try JSONText(Array(text.utf8)).decoded()
    } catch {
      throw Unusable("expected JSON with moment, position and lines: \(error)")
    }
    guard members.moment.snapshot >= 0 else { throw Unusable("moment.snapshot: expected a number from 0") }
    if let position = members.position, !position.kind.isKey(position.key) {
      throw Unusable("position.key: expected the key of a line \(position.kind.rawValue)")
    }
    (moment, position) = (members.moment, members.position)
    var counts: [ExportKind: Int64] = [:]
    for (name, count) in members.lines ?? [:] {
      guard let kind = ExportKind(rawValue: name), (0...Self.mostLines).contains(count) else {
        throw Unusable("lines: expected the number of lines of each kind")
      }
      counts[kind] = count
    }
    self.counts = counts
  }
}
