import AppStore
import Domain
import DomainSupport
import HTTPServer
import Testing

@testable import Doors
@testable import Gateway

/// Which purchase of a receipt a payment means, and what a receipt's rejection becomes.
struct CleengPaymentTests {
  private func purchase(_ id: OriginalTransactionId, _ product: ProductId, _ transactions: [TransactionId])
    -> LocalPurchase
  {
    LocalPurchase(
      key: TestPurchases.key(id), transactionId: transactions[0], productId: product, transactionIds: transactions)
  }

  private func chosen(
    _ purchases: [LocalPurchase], transaction: TransactionId? = nil, offer: OfferId = "S1"
  ) throws -> Result<LocalPurchase, CleengFailure> {
    let id = transaction.map { #","transactionId":"\#($0)""# } ?? ""
    let body = #"{"customerEmail":"a@b","offerId":"\#(offer)","receipt":{"receiptData":"MIIT"\#(id)}}"#
    let request = try CleengRequest(
      HTTPServerRequest(
        method: "POST", path: [], headers: [("Content-Type", "application/json")], body: Array(body.utf8)),
      isByCustomer: false)
    return CleengPayment.purchase(in: purchases, request, CleengLab.publisher())
  }

  @Test func `a named transaction names its purchase`() throws {
    let (one, two) = (purchase("1", "monthly", ["3", "1"]), purchase("2", "lifetime", ["2"]))
    #expect(try chosen([two, one], transaction: "1") == .success(one))
    #expect(try chosen([two, one], transaction: "2") == .success(two))
    let missing = Result<LocalPurchase, CleengFailure>.failure(.transactionNotInReceipt)
    #expect(try chosen([two, one], transaction: "4") == missing)
    #expect(try chosen([], transaction: "1") == missing)
    #expect(try chosen([]) == missing)
  }

  /// Cleeng's clients send the id of the first transaction, and a receipt need not list it any more.
  @Test func `the original transaction names its purchase, too`() throws {
    let (renewed, other) = (purchase("1", "monthly", ["3"]), purchase("2", "lifetime", ["2"]))
    #expect(try chosen([other, renewed], transaction: "1") == .success(renewed))
    #expect(try chosen([other, renewed], transaction: "3") == .success(renewed))
    // A transaction that is listed comes before one that only began a purchase.
    let odd = purchase("3", "yearly", ["4"])
    #expect(try chosen([odd, renewed], transaction: "3") == .success(renewed))
  }

  @Test func `otherwise it is the newest one of the offer`() throws {
    // The newest purchase comes first.
    let all = [
      purchase("3", "lifetime", ["3"]), purchase("2", "yearly", ["2"]), purchase("1", "monthly", ["1"]),
    ]
    #expect(try chosen(all) == .success(all[1]))
    #expect(try chosen(all, offer: "L1") == .success(all[0]))
    #expect(try chosen(all, offer: "P1") == .failure(.offerMismatch))
  }

  @Test func `a receipt that was read and refused has a failure, and any other text has none`() {
    let expected: [Rejection.Reason: CleengFailure] = [
      .bundleIdMismatch: .receiptOfAnotherApp, .appAppleIdMismatch: .receiptOfAnotherApp,
      .environmentMismatch: .environmentNotAccepted,
    ]
    let unread: [Rejection.Reason] = [.malformed, .kindMismatch, .transactionReceipt]
    for reason in Rejection.Reason.known {
      let failure = unread.contains(reason) ? nil : expected[reason] ?? .receiptNotValid
      #expect(CleengFailure(reason) == failure, "\(reason.rawValue)")
    }
  }
}
