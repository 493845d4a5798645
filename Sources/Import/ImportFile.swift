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
  private let verifier: any ImportVerifier
  /// The places of the rows by their transactions.
  private var places: [TransactionId: Int] = [:]

  /// Reads a file: JSON lines if its first byte is `{`, otherwise CSV with a line of names.
  ///
  /// - Parameter verifier: verifies the signed transactions and receipts of rows.
  public init(_ bytes: [UInt8], preset: ImportPreset, verifier: any ImportVerifier) {
    (self.preset, self.verifier) = (preset, verifier)
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    if let defect = ImportFileKind.defect(of: bytes) {
      problems.append(defect)
      return
    }
    let isJSON = bytes.first { !$0.isBlank } == UInt8(ascii: "{")
    if isJSON { readLines(bytes) } else { readCSV(bytes) }
    places = [:]
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
      var names: Set<String> = []
      if let twice = head.fields.first(where: { !names.insert($0).inserted }) {
        return problems.append(
          ImportProblem(line: head.line, "the column \(twice) stands twice", "remove one of the two"))
      }
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
      for row in try rows(line, field) { keep(row) }
    } catch {
      problems.append(error)
    }
  }

  private mutating func keep(_ row: ImportRow) {
    guard let place = places[row.transactionId] else {
      places[row.transactionId] = rows.count
      return rows.append(row)
    }
    let first = rows[place]
    if first.customerId == row.customerId {
      repeated += 1
      // The rows of a subscription's periods stand in any order: the last one says until when there is access.
      if let end = row.claim.expiresAt, end > first.claim.expiresAt ?? .min { rows[place] = first.claiming(row.claim) }
      return
    }
    problems.append(
      ImportProblem(
        line: row.line, "gives transaction \(row.transactionId) to another customer than line \(first.line)",
        "keep the row of its owner"))
  }

  /// A row is one purchase, but a receipt lists many.
  private func rows(_ line: Int, _ field: (ImportPreset.Field) -> String?) throws(ImportProblem) -> [ImportRow] {
    guard let customer = field(.customer).map(CustomerId.init(_:)) else {
      throw ImportProblem(line: line, "names no customer", "fill in the customer's id, or remove the row")
    }
    guard customer.isValid else {
      throw ImportProblem(line: line, "the customer's id cannot be used", CustomerId.expectation)
    }
    let (id, claim) = (try transaction(line, field), try claim(line, field))
    let isAlone = try isSignatureEnough(line, field)
    guard let text = try signedText(line, field) else {
      guard let id else {
        throw ImportProblem(
          line: line, "names no transaction",
          "fill in the id of a transaction or of the original one, a signed transaction or a receipt, or remove the row"
        )
      }
      guard !isAlone else {
        throw ImportProblem(
          line: line, "has no signed transaction to verify", "fill it in, or write apple in the column verify")
      }
      return [ImportRow(line: line, customerId: customer, transactionId: id, claim: claim)]
    }
    return try purchases(in: text, id, line, isAlone: isAlone).map { purchase in
      ImportRow(
        line: line, customerId: customer, transactionId: purchase.first, claim: claim,
        signedTransaction: isAlone ? text.transaction : nil)
    }
  }

  // MARK: What Apple signed

  private func signedText(
    _ line: Int, _ field: (ImportPreset.Field) -> String?
  ) throws(ImportProblem) -> ImportSignedText? {
    switch (field(.signed), field(.receipt)) {
    case (nil, nil): return nil
    case (let signed?, nil): return .transaction(signed)
    case (nil, let receipt?): return .receipt(receipt)
    case (.some, .some):
      throw ImportProblem(line: line, "has a signed transaction and a receipt", "fill in one of the two")
    }
  }

  /// The purchases of a text: all, or the one that the row names besides.
  private func purchases(
    in text: ImportSignedText, _ id: TransactionId?, _ line: Int, isAlone: Bool
  ) throws(ImportProblem) -> [ImportSignedPurchase] {
    let all: [ImportSignedPurchase]
    do throws(ImportRefusal) {
      all = try verifier.purchases(in: text)
    } catch {
      throw ImportProblem(line: line, error.cause, error.remedy)
    }
    guard !all.isEmpty else { throw ImportProblem(line: line, "the receipt has no purchases", "remove the row") }
    let meant = all.filter { purchase in id.map(purchase.isNamed(by:)) ?? true }
    guard !meant.isEmpty else {
      throw ImportProblem(
        line: line, "names another transaction than the one that Apple signed", "fill in one of the two")
    }
    guard !isAlone || meant.allSatisfy(\.isEnough) else {
      throw ImportProblem(
        line: line, "is of a purchase that its signature cannot settle",
        "write apple in the column verify: a subscription may have been renewed since, and a receipt is no proof of now"
      )
    }
    return meant
  }

  /// Whether the row says that the signature of its transaction is enough, so that Apple is not asked.
  private func isSignatureEnough(
    _ line: Int, _ field: (ImportPreset.Field) -> String?
  ) throws(ImportProblem) -> Bool {
    switch field(.verify) {
    case nil, "apple": return false
    case "signature": return true
    default:
      throw ImportProblem(line: line, "the column verify has another word", "write apple or signature, or nothing")
    }
  }

  // MARK: Ids and claims

  /// A vendor's row has both ids of a subscription: the original one stands for all of its periods.
  private func transaction(
    _ line: Int, _ field: (ImportPreset.Field) -> String?
  ) throws(ImportProblem) -> TransactionId? {
    let (transaction, original) = (field(.transaction), field(.original))
    guard let text = (preset == .plain ? transaction ?? original : original ?? transaction).map(preset.bare) else {
      return nil
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
