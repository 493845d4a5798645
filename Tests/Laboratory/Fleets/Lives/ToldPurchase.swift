import Formats

/// A purchase as a gateway tells it.
public struct ToldPurchase: Decodable, Sendable {
  public let customerId: String?
  public let transactionId: String
  public let expiresDate: String?
  public let revocationDate: String?
  public let access: Access?

  /// What the purchase gives its owner.
  public struct Access: Decodable, Sendable {
    public let accessGranted: Bool
    public let expiresAt: String?
  }

  /// Returns how it differs from the truth, with both sides.
  public func differences(from life: SimulatedLife) -> [String] {
    let told =
      life.mayShow(transactionId) ? life.transactions.last { $0.transactionId.isExactly(transactionId) } : nil
    guard let latest = told ?? life.shown else { return ["\(life.originalTransactionId) has no transaction"] }
    func time(_ milliseconds: Int64?) -> String? { milliseconds.map(rfc3339(milliseconds:)) }
    var lines: [String] = []
    func compare(_ name: String, _ told: String?, _ truth: String?) {
      guard !told.isExactly(truth) else { return }
      lines.append("\(life.originalTransactionId) (\(life.state)): \(name) is \(told ?? "-"), not \(truth ?? "-")")
    }
    compare("transactionId", transactionId, latest.transactionId)
    compare("expiresDate", expiresDate, time(latest.expiresDate))
    compare("revocationDate", revocationDate, time(latest.revocationDate))
    if let access {
      compare("accessGranted", "\(access.accessGranted)", "\(life.hasAccess)")
      if life.hasAccess { compare("expiresAt", access.expiresAt, time(life.accessUntil)) }
    }
    return lines
  }
}
