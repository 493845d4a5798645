import Formats

/// The order ids of the simulator: an `M` with the transaction's id behind it, so everybody knows the order of a
/// transaction. `M100…M110…` is one order with two transactions.
struct StoreOrder: Equatable, Sendable {
  /// The order's transactions.
  let transactionIds: [String]

  /// The longest id that is no mistake of the client.
  static let longest = 64

  /// The order id of a transaction.
  static func id(of transactionId: String) -> String { "M\(transactionId)" }

  /// Reads an order id; `nil` for an id that no order has.
  init?(_ id: String) {
    let parts = id.split(separator: "M", omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].isEmpty, parts.dropFirst().allSatisfy({ String($0).isASCIIDigits(1...20) }) else {
      return nil
    }
    transactionIds = parts.dropFirst().map(String.init)
  }

  /// Whether a text has the form of Apple's order ids: capitals and digits.
  static func isForm(_ text: String) -> Bool {
    (1...longest).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIIDigit || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  /// The answer to an id that no order of the app has.
  static let invalid = Array(#"{"signedTransactions":[],"status":1}"#.utf8)
}

extension StoreService {
  /// Decides about a call for an order: the decision about its transactions, one after the other.
  func order(_ call: StoreCall, of app: Simulator.App, now: Int64) -> StoreDecision {
    guard let order = StoreOrder(call.transactionId) else { return StoreDecision(.body(StoreOrder.invalid)) }
    var found: [TransactionPayload] = []
    var (seal, delay, isCutOff) = (StoreDecision.Seal.genuine, Duration.zero, false)
    for id in order.transactionIds {
      var one = call
      one.transactionId = id
      let question = question(one, app: app, time: now)
      let decision = decision(about: question, one) ?? StoreDecision(question)
      switch decision.answer {
      case .purchase(let purchase, let itsSeal):
        found.append(purchase.asked)
        if itsSeal != .genuine { seal = itsSeal }
      case .failure(.transactionIdNotFound): return StoreDecision(.body(StoreOrder.invalid))
      default: return decision
      }
      delay += decision.delay
      isCutOff = isCutOff || decision.isCutOff
    }
    guard let first = found.first else { return StoreDecision(.body(StoreOrder.invalid)) }
    var decision = StoreDecision(.purchase(StorePurchase(asked: first, history: found, subscription: nil), seal))
    (decision.delay, decision.isCutOff) = (delay, isCutOff)
    return decision
  }
}
