import Formats

/// A life as the simulator tells it: what Apple knows.
public struct SimulatedLife: Decodable, Equatable, Sendable {
  public let originalTransactionId: String
  public let state: String
  public let hasAccess: Bool
  /// UNIX milliseconds.
  public let accessUntil: Int64?
  public let productId: String
  /// The life whose place this one has taken.
  public let previousOriginalTransactionId: String?
  public let transactions: [Transaction]

  /// One transaction of a life; dates are UNIX milliseconds.
  public struct Transaction: Decodable, Equatable, Sendable {
    public let transactionId: String
    public let expiresDate: Int64?
    public let revocationDate: Int64?
    public let isUpgraded: Bool?
  }

  /// The transaction that a gateway shows. A purchase that gave way to another purchase shows its last period that was
  /// not replaced.
  var shown: Transaction? { transactions.last { $0.isUpgraded != true } ?? transactions.last }

  /// Whether a gateway may show this transaction.
  ///
  /// An upgrade replaces the running period and one that Apple has charged ahead. Apple then signs the later one only.
  /// So who has not read the Transaction History knows the running one as a period that has ended.
  func mayShow(_ transactionId: String) -> Bool {
    if shown?.transactionId.isExactly(transactionId) == true { return true }
    guard state.isExactly("upgraded") else { return false }
    return transactions.dropLast().contains { $0.isUpgraded == true && $0.transactionId.isExactly(transactionId) }
  }
}
