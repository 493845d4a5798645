public import Domain
import Formats
import JSON

/// A file as rows that can be imported, and what is wrong with the others. It is read line by line.
public struct ImportFile: Sendable {
  /// In the order of the file. No two of them have the same customer and transaction.
  public internal(set) var rows = ImportRows()
  /// The first ones, as many as ``Limits`` says.
  public private(set) var problems: [ImportProblem] = []
  /// How many there are in all.
  public private(set) var problemCount = 0
  /// Rows of other stores than Apple's.
  public private(set) var otherStores = 0
  /// Rows that name the customer and the purchase of an earlier row.
  public private(set) var repeated = 0
  /// Every row that is in none of ``rows``.
  public internal(set) var leftOut = ImportLeftOut()

  /// What an export of Countersign has besides; empty for other presets.
  public internal(set) var exported = Exported()

  /// How much of a file is kept in memory.
  public struct Limits: Sendable {
    /// The most rows that can be imported, with grants and sandbox access. A file with more cannot be used.
    public var rows: Int
    /// The most problems that are kept. The others are counted.
    public var problems: Int
    /// The most bytes of memory that all rows need, with grants and sandbox access. A file with more cannot be used.
    public var bytes: Int

    /// Creates limits.
    public init(rows: Int = .max, problems: Int = .max, bytes: Int = .max) {
      (self.rows, self.problems, self.bytes) = (rows, problems, bytes)
    }
  }

  let preset: ExportColumns
  let verifier: any ImportVerifier
  /// The publisher's offers; `nil` if nobody gives the file's grants.
  let offers: OfferCatalog?
  private let limits: Limits
  /// The positions of a CSV file's columns by their names; `nil` for JSON lines.
  private var columns: [ExactText: Int]?

  /// The rows by their transactions, while the file is read.
  private var places = ImportPlaces()

  /// Reads a file: JSON lines if its first byte is `{`, otherwise CSV with a line of names.
  ///
  /// - Parameters:
  ///   - preset: whose export it is.
  ///   - verifier: verifies the signed transactions and receipts of rows.
  ///   - limits: how much of it is kept.
  ///   - offers: the publisher's; `nil` if nobody gives the file's grants.
  ///   - read: reads the next line without its line feed; `nil` at the end. It throws why no further line can be used.
  public init(
    preset: ExportColumns, verifier: any ImportVerifier, limits: Limits = Limits(), offers: OfferCatalog? = nil,
    read: @escaping () throws(ImportProblem) -> [UInt8]?
  ) {
    (self.preset, self.verifier, self.limits, self.offers) = (preset, verifier, limits, offers)
    var lines = ImportLines(read)
    do throws(ImportProblem) {
      let first = try lines.peek()
      if preset.name == .countersign {
        try readExport(&lines)
      } else if first?.first(where: { !$0.isBlank }) == UInt8(ascii: "{") {
        try readLines(&lines)
      } else {
        try readCSV(lines)
      }
    } catch {
      // What was read before may be wrong, too.
      (rows, otherStores, repeated, exported) = (ImportRows(), 0, 0, Exported())
      (leftOut, problems, problemCount) = (ImportLeftOut(), [], 0)
      note(error)
    }
    places = ImportPlaces()
    if rows.isEmpty, problems.isEmpty, otherStores == 0, !exported.hasBegun {
      note(ImportProblem(line: 1, "the file has no rows", "give a file with at least one"))
    }
  }

  /// Reads the signed transaction of a row again.
  ///
  /// - Parameter read: reads the next line, from ``ImportRow/signedAt`` on.
  /// - Returns: `nil` if it is not there any more.
  public func signedTransaction(_ read: @escaping () -> [UInt8]?) -> String? {
    var lines = ImportLines(read)
    guard let columns else {
      guard let line = try? lines.next(), let value = try? values(of: line) else { return nil }
      return field(.signed, value)
    }
    var reader = CSVReader(lines)
    guard let record = try? reader.next() else { return nil }
    return field(.signed) { Self.value($0, record, columns) }
  }

  /// Counts a problem, and keeps it if there is room. Its row is left out.
  ///
  /// - Parameter why: what the report says of the row; `nil` for the problem's cause.
  mutating func note(_ problem: ImportProblem, _ why: ImportLeftOut.Why? = nil) {
    problemCount += 1
    leftOut.append(problem.line, why ?? .problem(problem.cause))
    if problems.count < limits.problems { problems.append(problem) }
  }

  /// Why nothing more of a file is read, once it has too many rows, or too much text in them.
  private func excess(_ line: Int) -> ImportProblem? {
    let remedy = "divide the file, and import its parts one by one"
    if rows.count + exported.grants.count + exported.sandboxAccess.count > limits.rows {
      return ImportProblem(line: line, "is the first one after \(limits.rows) rows", remedy)
    }
    // Each of them becomes a line of the report.
    if leftOut.count > limits.rows {
      return ImportProblem(line: line, "is the first one after \(limits.rows) rows that are left out", remedy)
    }
    if rows.byteCount + exported.byteCount + leftOut.byteCount > limits.bytes {
      return ImportProblem(line: line, "is the first one after \(limits.bytes) bytes of rows in memory", remedy)
    }
    return nil
  }

  /// The value of a field. Of several columns that have it, the first one with a value counts.
  func field(_ field: ExportColumns.Field, _ value: (StaticString) -> String?) -> String? {
    for name in preset.names(of: field) {
      if let text = value(name) { return text }
    }
    return nil
  }

  // MARK: CSV

  private mutating func readCSV(_ lines: ImportLines) throws(ImportProblem) {
    var reader = CSVReader(lines)
    do throws(CSVReader.Stop) {
      guard let head = try reader.next() else { return }
      var names: Set<ExactText> = []
      if let twice = head.fields.first(where: { !names.insert(ExactText($0)).inserted }) {
        return note(
          ImportProblem(line: head.line, "the column \(twice) appears twice", "remove one of the two"))
      }
      let columns = Dictionary(head.fields.enumerated().map { (ExactText($1), $0) }) { first, _ in first }
      self.columns = columns
      if let missing = missingColumns(columns) { return note(missing) }
      while let record = try reader.next() {
        if record.fields.count == head.fields.count {
          take(Place(line: record.line, offset: record.offset)) { Self.value($0, record, columns) }
        } else {
          note(
            ImportProblem(
              line: record.line, "has \(record.fields.count) fields, and the first line has \(head.fields.count)",
              "write one field for each column, with quotes around a field that has a comma"))
        }
        if let problem = excess(record.line) { throw .unusable(problem) }
      }
    } catch {
      switch error {
      case .broken(let problem): note(problem)
      case .unusable(let problem): throw problem
      }
    }
  }

  private static func value(_ name: StaticString, _ record: CSVReader.Record, _ columns: [ExactText: Int]) -> String? {
    guard let place = columns[name.description], place < record.fields.count else { return nil }
    return record.fields[place].isEmpty ? nil : record.fields[place]
  }

  private func missingColumns(_ columns: [ExactText: Int]) -> ImportProblem? {
    func has(_ fields: ExportColumns.Field...) -> Bool {
      fields.contains { preset.names(of: $0).contains { columns[$0.description] != nil } }
    }
    func names(_ fields: ExportColumns.Field...) -> String {
      fields.flatMap { preset.names(of: $0) }.map(\.description).joined(separator: " or ")
    }
    let remedy =
      "name the columns as the preset \(preset.name.rawValue) does, with commas between them, or use another preset"
    if !has(.customer) { return ImportProblem(line: 1, "there is no column \(names(.customer))", remedy) }
    if !has(.transaction, .original, .signed, .receipt) {
      return ImportProblem(line: 1, "there is no column \(names(.transaction, .original))", remedy)
    }
    return nil
  }

  // MARK: JSON lines

  private mutating func readLines(_ lines: inout ImportLines) throws(ImportProblem) {
    while let line = try lines.next() {
      if line.allSatisfy(\.isBlank) { continue }
      if let value = try? values(of: line) {
        take(Place(line: lines.number, offset: lines.offset), value)
      } else {
        note(
          ImportProblem(
            line: lines.number, "is not a JSON object with texts and whole numbers",
            "write one object a line, with its ids as texts"))
      }
      if let problem = excess(lines.number) { throw problem }
    }
  }

  /// Reads the members of a line that the preset names.
  private func values(of line: [UInt8]) throws -> (StaticString) -> String? {
    let members = try JSONObject(JSONText(line, limits: .outside))
    var values: [String: String] = [:]
    for name in ExportColumns.Field.allCases.flatMap({ preset.names(of: $0) }) {
      values[name.description] = try Self.text(name, of: members)
    }
    return { [values] name in values[name.description].flatMap { $0.isEmpty ? nil : $0 } }
  }

  /// A member that is a text or a whole number.
  private static func text(_ name: StaticString, of members: borrowing JSONObject) throws -> String? {
    if let number = try? members.int64(name) { return String(number) }
    return try members.string(name)
  }

  private mutating func readExport(_ lines: inout ImportLines) throws(ImportProblem) {
    while let line = try lines.next() {
      if line.allSatisfy(\.isBlank) { continue }
      try takeExported(line, lines.number)
      if let problem = excess(lines.number) { throw problem }
    }
    if exported.hasBegun { endExported(lines.number) }
  }

  // MARK: Rows

  /// Where a row stands in the file.
  struct Place {
    let line: Int
    /// In bytes.
    let offset: Int64
  }

  private mutating func take(_ place: Place, _ value: (StaticString) -> String?) {
    if let store = field(.store, value), !preset.isApple(store) {
      otherStores += 1
      return leftOut.append(place.line, .otherStore)
    }
    do throws(ImportProblem) {
      for row in try rows(at: place, value) { keep(row) }
    } catch {
      note(error)
    }
  }

  /// The row with a transaction.
  func position(of transaction: TransactionId) -> Int? { places.position(of: transaction, in: rows) }

  /// Adds a row whose transaction no other row has.
  mutating func add(_ row: ImportRow) {
    rows.append(row)
    places.note(rows.count - 1, in: rows)
  }

  private mutating func keep(_ row: ImportRow) {
    guard let position = position(of: row.transactionId) else { return add(row) }
    let first = rows[position]
    if first.customerId == row.customerId {
      repeated += 1
      leftOut.append(row.line, .repeated(of: first.line))
      // The rows of a subscription's periods stand in any order: the last one says until when there is access.
      if let end = row.claim.expiresAt, end > first.claim.expiresAt ?? .min {
        rows.replace(position, with: first.claiming(row.claim))
      }
      return
    }
    note(
      ImportProblem(
        line: row.line, "gives transaction \(row.transactionId) to another customer than line \(first.line)",
        "keep the row of its owner"), .otherCustomer(than: first.line))
  }
}
