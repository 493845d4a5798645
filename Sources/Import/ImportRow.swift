public import Domain
import Formats

/// A row of a file that can be imported: a customer and a purchase.
public struct ImportRow: Sendable, Equatable {
  /// The line of the file on which it begins.
  public let line: Int
  public let customerId: CustomerId
  /// What Apple is asked about: a transaction of the purchase, or its original one.
  public let transactionId: TransactionId
  /// What the file says besides. The report compares it with what Apple says.
  public let claim: ClaimedPurchase
  /// Where the file has the row, in bytes, if the row says that its signed transaction is enough. Such a text is long,
  /// so it is read again when it is needed.
  public let signedAt: Int64?

  /// Creates a row.
  public init(
    line: Int, customerId: CustomerId, transactionId: TransactionId, claim: ClaimedPurchase = ClaimedPurchase(),
    signedAt: Int64? = nil
  ) {
    (self.line, self.customerId, self.transactionId, self.claim) = (line, customerId, transactionId, claim)
    self.signedAt = signedAt
  }

  /// The row with another claim.
  func claiming(_ claim: ClaimedPurchase) -> ImportRow {
    ImportRow(line: line, customerId: customerId, transactionId: transactionId, claim: claim, signedAt: signedAt)
  }
}

/// Why a row cannot be imported, or the whole file.
public struct ImportProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The line of the file.
  public let line: Int
  public let cause: String
  /// What a person can do about it.
  public let remedy: String

  /// Creates a problem.
  ///
  /// - Parameter cause: may have texts of the file. Its control characters are replaced: a terminal would obey them.
  public init(line: Int, _ cause: String, _ remedy: String) {
    (self.line, self.remedy) = (line, remedy)
    self.cause = String(
      String.UnicodeScalarView(
        cause.unicodeScalars.map { $0.isControl ? "\u{fffd}" : $0 }))
  }

  public var description: String { "line \(line): \(cause); \(remedy)" }
}
