public import Domain
import JSON

/// What a file has of an export, read line by line: from it an export goes on.
public struct ExportedSoFar: Sendable, Equatable {
  /// A file that an export cannot go on with.
  public struct Unusable: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and with which line.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The moment that the file is of. `nil` before its first line.
  public private(set) var moment: ExportMoment?
  /// The last thing in the order of the export; `nil` if there is none yet.
  public private(set) var position: ExportPosition?
  /// How many lines of each kind there are.
  public private(set) var counts: [ExportKind: Int64] = [:]
  /// Whether the last line is there.
  public private(set) var isWhole = false
  private let publisher: PublisherId
  private var number = 0
  /// The last line of a thing, which is read only at the end.
  private var last: (kind: ExportKind, line: [UInt8])?
  /// The moment of a resumption that has not caught up yet.
  private var catching: ExportMoment?

  /// Creates the state of an empty file.
  ///
  /// - Parameter publisher: whose export the file must be.
  public init(publisher: PublisherId) { self.publisher = publisher }

  /// Creates the state of the lines that a client says it has.
  ///
  /// - Parameter publisher: whose export it is.
  public init(publisher: PublisherId, _ cursor: ExportCursor) {
    self.init(publisher: publisher)
    (moment, position, counts) = (cursor.moment, cursor.position, cursor.counts)
  }

  public static func == (one: ExportedSoFar, other: ExportedSoFar) -> Bool {
    one.moment == other.moment && one.position == other.position && one.counts == other.counts
      && one.isWhole == other.isWhole
  }

  private struct Begun: Decodable {
    let format: Int64
    let publisherId: PublisherId
    let moment: ExportMoment
  }

  private struct Resumed: Decodable {
    let moment: ExportMoment
    let position: ExportPosition?
  }

  /// Takes the next line, without its line end.
  ///
  /// - Throws: ``Unusable``.
  public mutating func take(_ line: [UInt8]) throws {
    number += 1
    guard let word = Self.kind(of: line) else { throw refused("is not a line of an export") }
    guard number > 1 else { return try begin(line, word) }
    guard !isWhole else { throw refused("comes after the end") }
    if let kind = ExportKind(rawValue: word) {
      counts[kind, default: 0] += 1
      // What has changed since is written again out of the order.
      if catching == nil { last = (kind, line) }
      return
    }
    switch word {
    case "resumed":
      let resumed: Resumed = try decoded(line)
      (catching, position, last) = (resumed.moment, resumed.position, nil)
    case "caughtUp":
      guard let caught = catching else { throw refused("has nothing to catch up with") }
      (moment, catching) = (caught, nil)
    case "end": isWhole = true
    default: throw refused("has an unknown kind")
    }
  }

  /// Reads where the lines end. The file has no more of them.
  ///
  /// - Throws: ``Unusable``.
  public mutating func finish() throws {
    guard let last else { return }
    position = try decoded(last.line) as ExportPosition
    self.last = nil
  }

  private mutating func begin(_ line: [UInt8], _ word: String) throws {
    guard word == "export" else { throw refused("is not the beginning of an export") }
    let begun: Begun = try decoded(line)
    guard begun.format == ExportLine.format else { throw refused("has format \(begun.format), not 1") }
    guard begun.publisherId == publisher else { throw refused("is of publisher \(begun.publisherId)") }
    moment = begun.moment
  }

  private func decoded<Value: Decodable>(_ line: [UInt8]) throws -> Value {
    do {
      return try JSONText(line, limits: .own).decoded()
    } catch {
      throw refused("cannot be read: \(error)")
    }
  }

  private func refused(_ problem: String) -> Unusable { Unusable("line \(number) \(problem)") }

  /// The word behind `{"kind":"`.
  private static func kind(of line: [UInt8]) -> String? {
    let head = Array("{\"kind\":\"".utf8)
    guard line.starts(with: head), line.last == UInt8(ascii: "}") else { return nil }
    return String(decoding: line.dropFirst(head.count).prefix(20).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
  }
}
