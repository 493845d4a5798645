/// The result and the offer that a purchase of the load deserves, by the first digits of its transaction (the
/// simulator's scenarios).
struct Deserved: Equatable {
  let result: String
  let offer: String?

  init(_ result: String, _ offer: String? = nil) {
    self.result = result
    self.offer = offer
  }

  /// The kinds of the load; each occurs as often as the list names it. They are subscriptions in every state, single
  /// purchases, purchases in the sandbox, transactions that Apple does not know, and first calls that fail.
  static let kinds = [
    "100", "101", "103", "110", "111", "112", "100", "131", "134", "121", "122", "102", "105", "106", "120", "100",
  ]

  /// The kinds without the one whose calls reset the connection. A reset takes the answers of all other calls on the
  /// connection away: the slower the machine, the more. So a row that judges delays would judge the machine.
  static let quietKinds = kinds.filter { $0 != "134" }

  /// What the first customer who registers the purchase deserves.
  static func of(_ transaction: String) -> Deserved {
    switch transaction.prefix(3) {
    case "101": Deserved("RECEIVED_EXPIRED_PURCHASE")
    case "102": Deserved("PURCHASE_REVOKED")
    case "105": Deserved("PURCHASE_SYNCHRONIZED", "S2")
    case "110", "111": Deserved("PURCHASE_SYNCHRONIZED", "A1")
    case "112": Deserved("PURCHASE_SYNCHRONIZED", "P1")
    case "120": Deserved("TRANSACTION_ID_NOT_FOUND")
    default: Deserved("PURCHASE_SYNCHRONIZED", "S1")
    }
  }

  /// The original transaction of a transaction. Only the simulator's scenario 105 has purchases of two transactions.
  static func purchase(of transaction: String) -> String {
    transaction.hasPrefix("1059") && transaction.utf8.count > 4 ? "105" + transaction.dropFirst(4) : transaction
  }

  /// What every other customer deserves.
  static let ofAnother = Deserved("PURCHASE_OWNED_BY_ANOTHER_CUSTOMER")
}
