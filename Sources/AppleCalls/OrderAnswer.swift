import AppStore
import Crypto
import Domain

/// Reads a successful answer of Look Up Order ID.
enum OrderAnswer {
  /// Verifies every transaction of an answer. One that is refused spoils the answer: it would be told as a part of what
  /// the customer bought.
  ///
  /// - Throws: what is wrong with the answer.
  static func reply(
    _ answer: OrderLookupResponse, for app: Publisher.App, _ verifier: SignedDataVerifier
  ) throws(AnswerDefect) -> OrderReply {
    switch answer.status {
    case .invalid: return .unknown
    case .valid: break
    default: throw AnswerDefect("the status \(answer.status.rawValue) is unknown")
    }
    let accepted = AcceptedApps([
      .init(bundleId: app.bundleId, appAppleId: app.appAppleId, environments: [.production])
    ])
    var transactions: [TransactionFacts] = []
    for signed in answer.signedTransactions {
      let facts = try facts(signed, accepted, verifier)
      if !transactions.contains(where: { $0.transactionId == facts.transactionId }) { transactions.append(facts) }
    }
    return .found(app.bundleId, transactions)
  }

  private static func facts(
    _ signed: String, _ accepted: AcceptedApps, _ verifier: SignedDataVerifier
  ) throws(AnswerDefect) -> TransactionFacts {
    switch verifier.signedTransaction(signed, expecting: accepted) {
    case .accepted(let transaction):
      do throws(EvidenceDefect) {
        return try TransactionFacts(transaction.payload, payloadSHA256: SHA256.hash(transaction.json))
      } catch {
        throw AnswerDefect("\(error)")
      }
    case .rejected(let rejection), .tryLater(let rejection): throw AnswerDefect("\(rejection)")
    }
  }
}
