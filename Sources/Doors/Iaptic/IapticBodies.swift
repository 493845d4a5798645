import Domain
import Formats
import JSON

/// The webhook bodies of iaptic. Each lists all purchases of a customer.
struct IapticBodies: RecordedBodyReader {
  let name = "iaptic-webhooks"
  let columns = ExportColumns.iaptic

  /// A purchase in a body of iaptic's.
  private struct Listed: Decodable {
    var platform: String?
    var purchaseId: String?
    var transactionId: String?
    var purchaseDate: String?
    var expirationDate: String?
    var isExpired: Bool?
    var isPending: Bool?
    var isConsumed: Bool?
    var cancelationReason: String?
  }

  private struct Notice: Decodable {
    var date: String?
  }

  func body(_ members: borrowing JSONObject, now: Int64) throws -> RecordedBody {
    guard try members.string("type") == "purchases.updated" else { return .nothing }
    let customer = try customer(members.string("applicationUsername"))
    let at = try date(members.value("notification", as: Notice.self)?.date)
    var claims: [TransactionId: ClaimedPurchase] = [:]
    for listed in try members.value("purchases", as: [ExactText: Listed].self)?.values.map(\.self) ?? [] {
      guard let platform = listed.platform, columns.isApple(platform), listed.isPending != true,
        listed.isConsumed != true, let name = listed.purchaseId ?? listed.transactionId
      else { continue }
      let id = try transaction(name)
      let claim = try claim(listed, at ?? now)
      // The products of one subscription have the same purchase: the last one says until when there is access.
      if let known = claims[id], known.expiresAt ?? .max >= claim.expiresAt ?? .max { continue }
      claims[id] = claim
    }
    return .purchases(claims, of: customer, isWhole: true, at: at)
  }

  /// - Parameter at: when the body says it.
  private func claim(_ listed: Listed, _ at: Int64) throws -> ClaimedPurchase {
    var end = try date(listed.expirationDate)
    // A reason without an end is a refund. With one, it may only say that there is no renewal.
    let isRefunded = end == nil && listed.cancelationReason?.isEmpty == false
    if listed.isExpired == true || isRefunded { end = min(end ?? at, at) }
    return ClaimedPurchase(purchasedAt: try date(listed.purchaseDate), expiresAt: end)
  }
}
