import Domain

/// What a line says, as rows.
extension ImportFile {
  /// A row is one purchase, but a receipt lists many.
  func rows(at place: Place, _ value: (StaticString) -> String?) throws(ImportProblem) -> [ImportRow] {
    let line = place.line
    func field(_ field: ExportColumns.Field) -> String? { self.field(field, value) }
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
        signedAt: isAlone ? place.offset : nil)
    }
  }

  // MARK: What Apple signed

  private func signedText(
    _ line: Int, _ field: (ExportColumns.Field) -> String?
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
        "write apple in the column verify: a subscription may have been renewed since, and a receipt does not prove the present state"
      )
    }
    return meant
  }

  /// Whether the row says that the signature of its transaction is enough, so that Apple is not asked.
  private func isSignatureEnough(
    _ line: Int, _ field: (ExportColumns.Field) -> String?
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
    _ line: Int, _ field: (ExportColumns.Field) -> String?
  ) throws(ImportProblem) -> TransactionId? {
    let (transaction, original) = (field(.transaction), field(.original))
    guard let text = (preset.name == .plain ? transaction ?? original : original ?? transaction).map(preset.bare) else {
      return nil
    }
    guard !(preset.name == .plain && transaction != nil && original != nil) else {
      throw ImportProblem(line: line, "names a transaction and an original one", "fill in one of the two")
    }
    guard TransactionId.isValid(text) else {
      throw ImportProblem(
        line: line, "the transaction's id is not 1 to \(TransactionId.longest) digits",
        "write it as Apple does, without letters, fractions and exponents")
    }
    return TransactionId(text)
  }

  /// The most characters of an offer's id, as in a publisher's file, and of a vendor's id: they are kept in memory.
  static let longestText = 256

  private func claim(
    _ line: Int, _ field: (ExportColumns.Field) -> String?
  ) throws(ImportProblem) -> ClaimedPurchase {
    func time(_ name: ExportColumns.Field) throws(ImportProblem) -> Int64? {
      guard let text = field(name) else { return nil }
      if let time = ImportTime.milliseconds(text) { return time }
      throw ImportProblem(
        line: line, "a time cannot be read", "write times like 2026-11-28T12:00:00Z, or in milliseconds since 1970")
    }
    func text(_ name: ExportColumns.Field, _ words: String) throws(ImportProblem) -> String? {
      guard let text = field(name) else { return nil }
      // Bytes first: they are counted at once, and a character has four at most.
      guard text.utf8.count <= 4 * Self.longestText, text.unicodeScalars.count <= Self.longestText else {
        throw ImportProblem(
          line: line, "\(words) has more than \(Self.longestText) characters", "shorten it, or leave it out")
      }
      return text
    }
    return ClaimedPurchase(
      offerId: try text(.offer, "the offer").map(OfferId.init(_:)), purchasedAt: try time(.purchasedAt),
      expiresAt: try time(.expiresAt), vendorId: try text(.vendorId, "the vendor's id"))
  }
}
