import Crypto
import Domain
import Formats
import HTTPServer
import JSON
import Testing

@testable import AppStore
@testable import Doors
@testable import Gateway

/// The answer to `/v1/validate`, by value.
struct IapticAnswerTests {
  private static let now: Int64 = 1_700_000_000_000
  private static let token: AppAccountToken = "6384e2b2-184b-3bf5-8ecc-f10ca7a6563c"

  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), webhooks: [])

  private func purchase(
    _ id: OriginalTransactionId = "1", owner: CustomerId? = "alice", in environment: Environment = "Production",
    expires: Int64 = 1000,
    token: AppAccountToken? = nil, offerType: Int32? = nil
  ) -> Purchase {
    var facts = TransactionFacts(
      transactionId: id.firstTransaction, originalTransactionId: id, bundleId: "com.example.app",
      productId: "monthly",
      kind: .autoRenewable, environment: environment, purchaseDate: Self.now - 1000,
      expiresDate: Self.now + expires, appAccountToken: token, signedDate: Self.now - 1000, payloadSHA256: [1])
    facts.offerType = offerType
    let key = PurchaseKey(publisherId: 7, environment: environment, originalTransactionId: id)
    return Purchase(
      key, transactions: [facts], owner: owner.map { Owner(customerId: $0, subscriptionId: 1) })!
  }

  private func local(_ id: OriginalTransactionId = "1", in environment: Environment = "Production") -> LocalPurchase {
    LocalPurchase(
      key: PurchaseKey(publisherId: 7, environment: environment, originalTransactionId: id),
      transactionId: id.firstTransaction,
      productId: "monthly", transactionIds: [id.firstTransaction])
  }

  private func evidence(_ purchases: [LocalPurchase], receipt: AppReceipt? = nil) -> LocalEvidence {
    var payload = TransactionPayload()
    (payload.transactionId, payload.productId) = ("1", "monthly")
    return LocalEvidence(
      kind: receipt.map { .receipt($0, sha256: []) } ?? .signedTransaction(payload, piece: nil),
      bundleId: "com.example.app", environment: "Production", createdAt: 0, purchases: purchases)
  }

  private func answer(
    _ states: [DoorResult.State], _ known: [Purchase], customer: CustomerId? = "alice", token: AppAccountToken? = nil,
    others: [Purchase] = [], receipt: AppReceipt? = nil, in environment: Environment = "Production"
  ) -> IapticAnswer {
    let purchases = states.indices.map { local("\($0 + 1)", in: environment) }
    return IapticAnswer(
      evidence: evidence(purchases, receipt: receipt),
      results: zip(purchases, states).map { DoorResult(purchase: $0, state: $1) },
      purchases: Dictionary(uniqueKeysWithValues: known.map { ($0.key, $0) }), others: others, publisher: publisher,
      customerId: customer, token: token, now: Self.now)
  }

  private func data(_ answer: IapticAnswer) throws -> [ExactText: JSONValue] {
    let body: [ExactText: JSONValue] = try JSONText(try answer.body()).decoded()
    #expect(body["ok"] == .bool(true))
    guard case .object(let data)? = body["data"] else { return [:] }
    return data
  }

  private func ids(_ answer: IapticAnswer) throws -> [String] {
    guard case .array(let collection)? = try data(answer)["collection"] else { return [] }
    return collection.compactMap { element in
      guard case .object(let members) = element, case .string(let id)? = members["purchaseId"] else { return nil }
      return id
    }
  }

  private func error(_ answer: IapticAnswer) -> IapticError? {
    do {
      _ = try answer.body()
      return nil
    } catch {
      return error
    }
  }

  private func done(_ result: ResultCode = .purchaseSynchronized) -> DoorResult.State {
    .finalized(SynchronizationResult(result))
  }

  @Test func `a verified transaction, whole`() throws {
    #expect(
      String(decoding: try answer([done()], [purchase(offerType: 1)]).body(), as: UTF8.self) == """
        {"ok":true,"data":{"id":"com.example.app","latest_receipt":true,"transaction":{"type":"apple-sk2",\
        "productId":"monthly","transactionId":"1"},"collection":[{"id":"monthly","platform":"ios-appstore",\
        "purchaseId":"1","transactionId":"1","purchaseDate":1699999999000,"expiryDate":1700000001000,\
        "isExpired":false,"cancelationReason":"","isBillingRetryPeriod":false,"isTrialPeriod":false,\
        "isIntroPeriod":true,"isAcknowledged":true,"isConsumed":false}],"ineligible_for_intro_price":["monthly"],\
        "date":"2023-11-14T22:13:20.000Z"}}
        """)
  }

  @Test func `a receipt tells the download of the app`() throws {
    var receipt = AppReceipt(bundleId: "com.example.app", receiptCreationDate: 5)
    receipt.originalApplicationVersion = "1.0"
    receipt.originalPurchaseDate = 1_375_340_400_000
    receipt.inApp = [InAppReceipt(productId: "yearly", isTrialPeriod: true), InAppReceipt(productId: "monthly")]
    let data = try data(answer([done()], [purchase()], receipt: receipt))
    #expect(
      data["transaction"]
        == .object([
          "type": .string("ios-appstore"), "bundle_id": .string("com.example.app"),
          "original_application_version": .string("1.0"), "original_purchase_date_ms": .string("1375340400000"),
          "receipt_creation_date_ms": .string("5"),
        ]))
    #expect(data["ineligible_for_intro_price"] == .array([.string("yearly")]))
  }

  @Test func `a receipt without purchases is verified and empty`() throws {
    let receipt = AppReceipt(bundleId: "com.example.app", receiptCreationDate: 5)
    #expect(try data(answer([], [], receipt: receipt))["collection"] == .array([]))
  }

  @Test func `an expired purchase is no error`() throws {
    #expect(try ids(answer([done(.receivedExpiredPurchase)], [purchase(expires: -1)])) == ["1"])
  }

  @Test func `another user's purchase is not shown, and alone it is an error`() throws {
    let mixed = answer(
      [done(), done(.purchaseOwnedByAnotherCustomer)], [purchase("1"), purchase("2", owner: "bob")])
    #expect(try ids(mixed) == ["1"] && data(mixed)["warning"] == nil)
    #expect(error(answer([done(.purchaseOwnedByAnotherCustomer)], [purchase(owner: "bob")])) == .ofAnotherUser)
    // The owner changed after the result.
    #expect(error(answer([done()], [purchase(owner: "bob")])) == .ofAnotherUser)
    #expect(error(answer([done()], [purchase(owner: nil)])) == .ofAnotherUser)
  }

  @Test func `without a user, every purchase is shown and nobody gets it`() throws {
    let found = answer(
      [done(.purchaseUnclaimed), done(.purchaseUnclaimed)], [purchase("1", owner: nil), purchase("2", owner: "bob")],
      customer: nil)
    #expect(try ids(found) == ["1", "2"])
  }

  @Test func `the token must be the user's`() throws {
    let other: AppAccountToken = "00000000-0000-4000-8000-000000000001"
    #expect(error(answer([done()], [purchase(token: other)], token: Self.token)) == .otherToken)
    #expect(try ids(answer([done()], [purchase(token: Self.token)], token: Self.token)) == ["1"])
    #expect(try ids(answer([done()], [purchase(token: nil)], token: Self.token)) == ["1"])
    let none: AppAccountToken = "00000000-0000-0000-0000-000000000000"
    #expect(try ids(answer([done()], [purchase(token: none)], token: Self.token)) == ["1"])
    #expect(try ids(answer([done()], [purchase(token: other)])) == ["1"])
  }

  @Test func `what Apple has not answered is shown as it was, with a warning`() throws {
    for state in [DoorResult.State.accepted, .failed("busy")] {
      let known = answer([state], [purchase()])
      #expect(try ids(known) == ["1"] && data(known)["warning"] != nil)
      #expect(error(answer([state], [])) == .silent)
      #expect(error(answer([state], [purchase(owner: "bob")])) == .silent)
    }
    let partly = answer([done(), .accepted], [purchase("1")])
    #expect(try ids(partly) == ["1"] && data(partly)["warning"] != nil)
    // Another purchase's error does not hide that the client may ask again.
    #expect(error(answer([done(.verificationFailed), .accepted], [])) == .silent)
  }

  @Test func `a provisional purchase has a warning, and an unconfirmed one is not shown`() throws {
    var provisional = purchase()
    provisional.provisionalUntil = Self.now + 10
    #expect(try data(answer([done()], [provisional]))["warning"] != nil)
    provisional.provisionalUntil = Self.now
    #expect(error(answer([done()], [provisional])) == .unconfirmed)
  }

  @Test func `the sandbox counts where the publisher says so`() throws {
    let sandbox = purchase(in: "Sandbox")
    #expect(error(answer([done()], [sandbox], in: "Sandbox")) == .sandboxNotAllowed)
    #expect(
      error(answer([done(.sandboxNotAllowed)], [sandbox], in: "Sandbox"))?.code == .invalidPayload)
  }

  @Test func `a verification that failed has the result's code`() {
    #expect(error(answer([done(.transactionIdNotFound)], []))?.code == .invalidPayload)
    #expect(error(answer([done(.internalError)], []))?.code == .internalError)
    #expect(error(answer([done()], []))?.code == .internalError)
  }

  @Test func `the customer's other purchases come last`() throws {
    let found = answer([done()], [purchase("1", token: Self.token)], token: Self.token, others: [purchase("9")])
    #expect(try ids(found) == ["1", "9"])
  }

  // MARK: Reads

  @Test func `a row of the list of customers`() {
    func row(_ purchases: [Purchase]) -> String {
      let rules = publisher.accessRules(for: "alice", owning: purchases)
      let subscriber = IapticSubscriber("alice", purchases, rules: rules, now: Self.now)
      return String(decoding: JSONWriter.object { subscriber.write(to: &$0) }, as: UTF8.self)
    }
    #expect(row([]) == #"{"applicationUsername":"alice","customerInfo":{},"receiptIds":[]}"#)
    #expect(
      row([purchase("2", expires: -1), purchase("1")]) == """
        {"applicationUsername":"alice","customerInfo":{"lastPurchaseId":"apple:2",\
        "lastPurchaseDate":"2023-11-14T22:13:19.000Z","expirationDate":"2023-11-14T22:13:21.000Z",\
        "activeSubscriber":true,"lapsedSubscriber":false},"receiptIds":["apple:1","apple:2"]}
        """)
    #expect(row([purchase(expires: -1)]).contains(#""activeSubscriber":false,"lapsedSubscriber":true"#))
  }

  @Test func `a receipt that names no purchase is answered with the one that Apple named`() throws {
    // The receipt has no original id, so its evidence takes the renewal 9 for the purchase. Apple says that it is 1.
    var result = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")
    (result.environment, result.originalTransactionId) = ("Production", "1")
    var unnamed = local("9")
    unnamed.isNamedBySigner = false
    let entry = DoorResult(purchase: unnamed, state: .finalized(result))
    let answer = IapticAnswer(
      evidence: evidence([unnamed]), results: [entry],
      purchases: [PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1"): purchase("1")],
      publisher: publisher, customerId: "alice", token: nil, now: Self.now)
    let shown = try data(answer)
    guard case .array(let collection)? = shown["collection"], case .object(let only)? = collection.first else {
      Issue.record("nothing is shown")
      return
    }
    #expect(collection.count == 1 && only["purchaseId"] == .string("1"))
  }
}
