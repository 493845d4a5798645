import Domain
import JSON

/// A whole file as rows that can be imported, and what is wrong with the others.
public struct ImportFile: Sendable, Equatable {
  /// In the order of the file. No two of them have the same customer and transaction.
  public private(set) var rows: [ImportRow] = []
  public private(set) var problems: [ImportProblem] = []
  /// Rows of other stores than Apple's.
  public private(set) var otherStores = 0
  /// Rows that name the customer and the purchase of an earlier row.
  public private(set) var repeated = 0

  private let preset: ImportPreset
  private var firstLines: [TransactionId: (line: Int, customer: CustomerId)] = [:]

  /// Reads a file: JSON lines if its first byte is `{`, otherwise CSV with a line of names.
  public init(_ bytes: [UInt8], preset: ImportPreset) {
    self.preset = preset
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    let isJSON = bytes.first { !$0.isBlank } == UInt8(ascii: "{")
    if isJSON { readLines(bytes) } else { readCSV(bytes) }
    firstLines = [:]
    if rows.isEmpty, problems.isEmpty, otherStores == 0 {
      problems.append(ImportProblem(line: 1, "the file has no rows", "give a file with at least one"))
    }
  }

  public static func == (one: ImportFile, other: ImportFile) -> Bool {
    one.rows == other.rows && one.problems == other.problems && one.otherStores == other.otherStores
      && one.repeated == other.repeated
  }

  // MARK: CSV

  private mutating func readCSV(_ bytes: [UInt8]) {
    var reader = CSVReader(bytes)
    do {
      guard let head = try reader.next() else { return }
      let places = Dictionary(head.fields.enumerated().map { ($1, $0) }) { first, _ in first }
      if let missing = missingColumns(places) { return problems.append(missing) }
      while let record = try reader.next() {
        guard record.fields.count == head.fields.count else {
          problems.append(
            ImportProblem(
              line: record.line, "has \(record.fields.count) fields, and the first line has \(head.fields.count)",
              "write one field for each column, with quotes around a field that has a comma"))
          continue
        }
        take(record.line) { name in
          places[name.description].flatMap { record.fields[$0].isEmpty ? nil : record.fields[$0] }
        }
      }
    } catch {
      problems.append(
        ImportProblem(line: error.line, error.cause, "write two quotes for one inside a field; the rest is not read"))
    }
  }

  private func missingColumns(_ places: [String: Int]) -> ImportProblem? {
    func has(_ fields: ImportPreset.Field...) -> Bool {
      fields.contains { preset.names(of: $0).contains { places[$0.description] != nil } }
    }
    func names(_ fields: ImportPreset.Field...) -> String {
      fields.flatMap { preset.names(of: $0) }.map(\.description).joined(separator: " or ")
    }
    let remedy =
      "name the columns as the preset \(preset.rawValue) does, with commas between them, or use another preset"
    if !has(.customer) { return ImportProblem(line: 1, "there is no column \(names(.customer))", remedy) }
    if !has(.transaction, .original, .signed, .receipt) {
      return ImportProblem(line: 1, "there is no column \(names(.transaction, .original))", remedy)
    }
    return nil
  }

  // MARK: JSON lines

  private mutating func readLines(_ bytes: [UInt8]) {
    for (index, line) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
      if line.allSatisfy(\.isBlank) { continue }
      do {
        let members = try JSONObject(JSONText(Array(line), limits: .outside))
        var values: [String: String] = [:]
        for name in ImportPreset.Field.allCases.flatMap({ preset.names(of: $0) }) {
          values[name.description] = try Self.text(name, of: members)
        }
        take(index + 1) { name in values[name.description].flatMap { $0.isEmpty ? nil : $0 } }
      } catch {
        problems.append(
          ImportProblem(
            line: index + 1, "is no JSON object with texts and whole numbers",
            "write one object a line, with its ids as texts"))
      }
    }
  }

  /// A member that is a text or a whole number.
  private static func text(_ name: StaticString, of members: borrowing JSONObject) throws -> String? {
    if let number = try? members.int64(name) { return String(number) }
    return try members.string(name)
  }

  // MARK: Rows

  private mutating func take(_ line: Int, _ value: (StaticString) -> String?) {
    func field(_ field: ImportPreset.Field) -> String? { preset.names(of: field).lazy.compactMap(value).first }
    if let store = field(.store), !preset.isApple(store) {
      otherStores += 1
      return
    }
    do throws(ImportProblem) {
      let row = try row(line, field)
      if let first = firstLines[row.transactionId] {
        guard first.customer != row.customerId else {
          repeated += 1
          return
        }
        throw ImportProblem(
          line: line, "gives transaction \(row.transactionId) to another customer than line \(first.line)",
          "keep the row of its owner")
      }
      firstLines[row.transactionId] = (line, row.customerId)
      rows.append(row)
    } catch {
      problems.append(error)
    }
  }

  private func row(_ line: Int, _ field: (ImportPreset.Field) -> String?) throws(ImportProblem) -> ImportRow {
    guard let customer = field(.customer).map(CustomerId.init(_:)) else {
      throw ImportProblem(line: line, "names no customer", "fill in the customer's id, or remove the row")
    }
    guard customer.isValid else {
      throw ImportProblem(line: line, "the customer's id cannot be used", CustomerId.expectation)
    }
    return ImportRow(
      line: line, customerId: customer, transactionId: try transaction(line, field), claim: try claim(line, field))
  }

  /// A vendor's row has both ids of a subscription: the original one stands for all of its periods.
  private func transaction(
    _ line: Int, _ field: (ImportPreset.Field) -> String?
  ) throws(ImportProblem) -> TransactionId {
    let (transaction, original) = (field(.transaction), field(.original))
    guard let text = (preset == .plain ? transaction ?? original : original ?? transaction).map(preset.bare) else {
      if field(.signed) != nil || field(.receipt) != nil {
        throw ImportProblem(
          line: line, "has only a signed transaction or a receipt, which an import cannot read yet",
          "fill in the transaction's id, or register the row over HTTP")
      }
      throw ImportProblem(
        line: line, "names no transaction", "fill in the id of a transaction or of the original one, or remove the row")
    }
    guard !(preset == .plain && transaction != nil && original != nil) else {
      throw ImportProblem(line: line, "names a transaction and an original one", "fill in one of the two")
    }
    guard TransactionId.isValid(text) else {
      throw ImportProblem(
        line: line, "the transaction's id is not 1 to \(TransactionId.longest) digits",
        "write it as Apple does, without letters, fractions and exponents")
    }
    return TransactionId(text)
  }

  private func claim(
    _ line: Int, _ field: (ImportPreset.Field) -> String?
  ) throws(ImportProblem) -> ImportRow.Claim {
    func time(_ name: ImportPreset.Field) throws(ImportProblem) -> Int64? {
      guard let text = field(name) else { return nil }
      if let time = ImportTime.milliseconds(text) { return time }
      throw ImportProblem(
        line: line, "a time cannot be read", "write times like 2026-11-28T12:00:00Z, or in milliseconds since 1970")
    }
    return ImportRow.Claim(
      offerId: field(.offer).map(OfferId.init(_:)), purchasedAt: try time(.purchasedAt),
      expiresAt: try time(.expiresAt), vendorId: field(.vendorId))
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0d || self == 0x0a }
}
