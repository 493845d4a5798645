import Domain
import Formats
import JSON

/// A life in the simulator, as its control calls tell it (docs/how-to/simulate.md).
struct PlayedLife: Sendable, Equatable {
  let id: OriginalTransactionId
  let state: State
  let hasAccess: Bool
  /// Milliseconds since 1970; `nil` without access, or if it does not end.
  let accessUntil: Int64?
  let productId: String
  let bundleId: BundleId
  let willRenew: Bool?
  /// When something happens by itself.
  let due: Int64?
  let transactions: [Transaction]

  /// Where a life is.
  enum State: String, Sendable {
    case active, grace, billingRetry, expired, revoked, upgraded
  }

  struct Transaction: Sendable, Equatable {
    let id: String
    let purchasedAt: Int64
    let expiresAt: Int64?
    let isRevoked: Bool
  }

  /// What a person may let happen to a life.
  enum Action: String, Sendable, CaseIterable {
    case renew, fail, recover, refund, expire
    case endGrace = "end-grace"
    case disableRenewal = "disable-renewal"
    case enableRenewal = "enable-renewal"

    var words: String {
      switch self {
      case .renew: "Renew now"
      case .fail: "Let the renewal fail"
      case .recover: "Let the payment succeed"
      case .refund: "Refund"
      case .expire: "End now"
      case .endGrace: "End the grace period"
      case .disableRenewal: "Turn renewal off"
      case .enableRenewal: "Turn renewal on"
      }
    }
  }

  /// What can happen in its present state.
  var actions: [Action] {
    switch state {
    case .active:
      willRenew == nil
        ? [.refund] : [.renew, .fail, willRenew == true ? .disableRenewal : .enableRenewal, .expire, .refund]
    case .grace: [.recover, .endGrace, .expire, .refund]
    case .billingRetry: [.recover, .expire, .refund]
    case .expired: [.refund]
    case .revoked, .upgraded: []
    }
  }

  /// Reads an answer of the simulator; `nil` for any other text.
  init?(_ body: [UInt8]) {
    guard let text = try? JSONText(body), case .object(let members)? = try? text.decoded(as: JSONValue.self) else {
      return nil
    }
    func word(_ members: [ExactText: JSONValue], _ name: String) -> String? {
      if case .string(let text)? = members[name] { text } else { nil }
    }
    func time(_ members: [ExactText: JSONValue], _ name: String) -> Int64? {
      // A time that no calendar has would end up on the page.
      if case .integer(let time)? = members[name], Int64.times.contains(time) { time } else { nil }
    }
    func flag(_ name: String) -> Bool? {
      if case .bool(let flag)? = members[name] { flag } else { nil }
    }
    guard let id = word(members, "originalTransactionId"), let state = word(members, "state").flatMap(State.init),
      let hasAccess = flag("hasAccess"), let productId = word(members, "productId"),
      let bundleId = word(members, "bundleId").map(BundleId.init(_:)),
      case .array(let rows)? = members["transactions"]
    else { return nil }
    (self.id, self.state, self.hasAccess, self.productId) = (OriginalTransactionId(id), state, hasAccess, productId)
    self.bundleId = bundleId
    (accessUntil, willRenew, due) = (time(members, "accessUntil"), flag("willRenew"), time(members, "due"))
    transactions = rows.compactMap { row in
      guard case .object(let row) = row, let id = word(row, "transactionId"), let at = time(row, "purchaseDate") else {
        return nil
      }
      return Transaction(
        id: id, purchasedAt: at, expiresAt: time(row, "expiresDate"), isRevoked: row["revocationDate"] != nil)
    }
  }
}
