import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import JSON
import Postgres
import ServerSupport
import Simulator
import TestSupport
import Testing

/// PlayFab's contract at a whole fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct PlayFabDoorTests {
  private static let roles = ["gateway-1", "worker-1"]

  /// Each scene has customers of its own.
  @Test func `purchases are validated and restored`() async throws {
    let scenes = [
      // It counts rows, so it comes first.
      Scene("a bad request gets PlayFab's error, and leaves nothing", refusesBadRequests),
      Scene("a purchase is validated, and belongs to its customer", validatesPurchase),
      Scene("a new consumable is granted beside what the customer has", grantsNewConsumable),
      Scene("a consumable is granted once", grantsConsumableOnce),
      Scene("a purchase with an offer is validated at the store's price", validatesOffers),
      Scene("a restore looks at every purchase of the receipt", restoresEverything),
      Scene("Apple's verdict has PlayFab's codes", tellsVerdicts),
      Scene("a receipt without purchases, and a purchase of the sandbox", refusesEmptyAndSandbox),
      Scene("a grant is not shown", showsNoGrant),
    ]
    try await PlayFabClient.with(Self.roles, prepare: PlayFabClient.otherPublishers) { client in
      for (number, scene) in scenes.enumerated() {
        var client = client
        (client.customer, client.other) = (Int64(10 * number + 7), Int64(10 * number + 8))
        for id in [client.customer, client.other] { _ = try await client.fleet.putCustomer(id) }
        await scene.run(client)
      }
    }
  }

  private func showsNoGrant(_ client: PlayFabClient) async throws {
    let receipt = try await client.fleet.minted("receipt/1010000000001")
    #expect(try await client.fleet.give(to: client.customer).status == 201)
    let restored = try await client.restore(receipt)
    #expect(restored.status == 200 && restored.fulfillments.isEmpty, "\(restored.text)")
  }

  private func validatesPurchase(_ client: PlayFabClient) async throws {
    let jws = try await client.fleet.minted("jws/1000000000001")
    let bought = try await client.validate(jws: jws, price: 999, "USD")
    #expect(bought.status == 200 && bought.code == 200 && bought.error == nil)
    let fulfillment = try #require(bought.fulfillments.first)
    #expect(fulfillment.recordedPriceSource == "Request")
    #expect(fulfillment.recordedTransactionCurrency == "USD" && fulfillment.recordedTransactionTotal == 999)
    let item = try #require(fulfillment.fulfilledItems.first)
    #expect(item.itemId == "com.example.app.monthly" && item.itemClass == "subscriptions")
    #expect(item.displayName == "Video, by the month" && item.catalogVersion == "5")
    #expect(item.unitPrice == 999 && item.unitCurrency == "USD" && item.remainingUses == nil)
    #expect(item.expiration?.hasSuffix("T00:00:00.000Z") == true && item.purchaseDate != nil)
    #expect(item.itemInstanceId.count == 16)
    #expect(try await client.fleet.entitlements("\(client.customer)").body?.entitlements.map(\.offerId) == ["S1"])

    // A receipt with the same purchase shows the same item.
    let receipt = try await client.fleet.minted("receipt/1000000000001")
    let again = try await client.validate(receipt: receipt, price: 999, "USD")
    #expect(again.fulfillments.first?.fulfilledItems == [item])
    let restored = try await client.restore(receipt)
    #expect(restored.fulfillments.first?.fulfilledItems == [item])
    #expect(restored.fulfillments.first?.recordedPriceSource == "Catalog")

    // It is nobody else's.
    let taken = try await client.validate(jws: jws, price: 999, customer: client.other)
    #expect(taken.status == 400 && taken.name == "SubscriptionAlreadyTaken 1340")
    #expect(try await client.restore(receipt, customer: client.other).name == "ReceiptAlreadyUsed 1022")
    let lifetime = try await client.fleet.minted("jws/1100000000001")
    #expect(try await client.validate(jws: lifetime, price: 4999).error == nil)
    let takenLifetime = try await client.validate(jws: lifetime, price: 4999, customer: client.other)
    #expect(takenLifetime.name == "ReceiptAlreadyUsed 1022")
    #expect(try await client.fleet.entitlements("\(client.other)").body?.entitlements.isEmpty == true)
    #expect(try await client.fleet.ledgerDifferences() == [])
  }

  private func grantsConsumableOnce(_ client: PlayFabClient) async throws {
    let jws = try await client.fleet.minted("jws/1110000000002")
    let first = try await client.validate(jws: jws, price: 199, "USD")
    #expect(first.fulfillments.first?.fulfilledItems.map(\.remainingUses) == [1])
    #expect(first.fulfillments.first?.fulfilledItems.map(\.usesIncrementedBy) == [1])
    #expect(try await client.validate(jws: jws, price: 199, "USD").name == "ReceiptAlreadyUsed 1022")
    #expect(try await client.validate(jws: jws, price: 199, customer: client.other).name == "ReceiptAlreadyUsed 1022")
    // A restore is no error, and grants nothing a second time.
    let receipt = try await client.fleet.minted("receipt/1110000000002?also=1110000000003")
    let restored = try await client.restore(receipt)
    #expect(restored.error == nil)
    #expect(restored.fulfillments.compactMap(\.fulfilledItems.first?.remainingUses) == [1])
    #expect(try await client.restore(receipt).fulfillments.isEmpty)
    #expect(try await client.restore(receipt).status == 200)
  }

  /// PlayFab's price is the one that is set up in the store; Apple's is that of the offer.
  private func validatesOffers(_ client: PlayFabClient) async throws {
    let offers: [(terms: String, charged: Int)] = [
      (#""trial":true"#, 0),
      (#""offerType":1,"offerDiscountType":"PAY_AS_YOU_GO","offerPeriod":"P1M","price":4990"#, 499),
      (#""offerType":2,"offerIdentifier":"WINTER","offerDiscountType":"PAY_UP_FRONT","price":5990"#, 599),
    ]
    let simulator = client.fleet.simulator
    for (number, offer) in offers.enumerated() {
      for (more, publisher) in [(0, RunningFleet.publisher), (10, PlayFabClient.withoutPrices)] {
        let id = "200000000000\(number + more + 20)"
        let begun = await simulator.control(
          "PUT", "/simulator/lives/\(id)", #"{"periodSeconds":3600,"notify":[],\#(offer.terms)}"#)
        #expect(begun.status < 300, "\(String(decoding: begun.body, as: UTF8.self))")
        let jws = try await client.fleet.minted("jws/\(id)")
        let answer = try await client.validate(jws: jws, price: 999, "USD", publisher: publisher)
        #expect(answer.status == 200 && answer.error == nil, "\(offer.terms): \(answer.text)")
        // The answer records Apple's price.
        let recorded = try #require(answer.fulfillments.first)
        #expect(recorded.recordedTransactionTotal == offer.charged && recorded.recordedPriceSource == nil)
        #expect(recorded.recordedTransactionCurrency == "USD")
        // So does the ledger.
        guard publisher == RunningFleet.publisher else { continue }
        let purchase = try await client.fleet.purchase(id, environment: "Production")
        #expect(purchase.body?.price == Int64(offer.charged * 10))
      }
    }
    // Without an offer, another price than Apple's is refused, and so is one that the catalog contradicts.
    let full = try await client.fleet.minted("jws/1000000000021")
    let refused = try await client.validate(jws: full, price: 998, "USD", publisher: PlayFabClient.withoutPrices)
    #expect(refused.name == "InvalidParams 1000")
    let trial = try await client.fleet.minted("jws/20000000000020")
    #expect(try await client.validate(jws: trial, price: 998, "USD").name == "InvalidParams 1000")
    // Three digits: cut, or rounded.
    _ = await simulator.control("PUT", "/simulator/lives/2000000000022", #"{"price":9995,"notify":[]}"#)
    let odd = try await client.fleet.minted("jws/2000000000022")
    for (price, name) in [(1000, "none 0"), (999, "none 0"), (998, "InvalidParams 1000")] {
      let answer = try await client.validate(jws: odd, price: price, "USD", publisher: PlayFabClient.withoutPrices)
      #expect(answer.name == name, "\(price): \(answer.text)")
    }
  }

  private func grantsNewConsumable(_ client: PlayFabClient) async throws {
    func items(_ ids: String, price: Int) async throws -> [String] {
      let answer = try await client.validate(receipt: try await client.fleet.minted("receipt/\(ids)"), price: price)
      let items = answer.fulfillments.flatMap(\.fulfilledItems)
      return items.isEmpty ? [answer.name] : items.map { String($0.itemId.split(separator: ".").last ?? "") }
    }
    #expect(try await items("1100000000031", price: 4999) == ["lifetime"])
    #expect(try await items("1100000000031?also=1110000000031", price: 199) == ["coins"])
    #expect(try await items("1110000000031?also=1100000000031", price: 199) != ["coins"])
    // A subscription that nobody has registered yet, and one that the customer has.
    #expect(try await items("1000000000031?also=1110000000032", price: 199) == ["coins"])
    #expect(try await items("1000000000031", price: 999) == ["monthly"])
    #expect(try await items("1000000000031?also=1100000000031,1110000000033", price: 199) == ["coins"])
    // Two are new: only the client knows which one it means.
    #expect(
      try await items("1110000000034?also=1110000000035", price: 199) == ["ReceiptContainsMultipleInAppItems 1097"])
    #expect(try await client.fleet.ledgerDifferences() == [])
  }

  private func restoresEverything(_ client: PlayFabClient) async throws {
    let others = ["101", "102", "103", "105", "110", "112", "120"].map { "\($0)0000000004" }
    let receipt = try await client.fleet.minted("receipt/1000000000004?also=\(others.joined(separator: ","))")
    let restored = try await client.restore(receipt)
    let items = restored.fulfillments.flatMap(\.fulfilledItems)
    let expected = ["lifetime", "monthly", "monthly", "pass", "yearly"].map { "com.example.app.\($0)" }
    #expect(items.map(\.itemId).sorted() == expected)
    #expect(Set(items.map(\.itemInstanceId)).count == items.count)
    #expect(try await client.restore(receipt).fulfillments.flatMap(\.fulfilledItems) == items)

    let version = try await client.restore(receipt, version: "5")
    #expect(version.fulfillments.flatMap(\.fulfilledItems).map(\.catalogVersion) == ["5", "5"])
    #expect(try await client.restore(receipt, version: "6").name == "NoMatchingCatalogItemForReceipt 1178")
    // Nothing of it is valid any more, and that is no error.
    let over = try await client.restore(try await client.fleet.minted("receipt/1010000000005?also=1020000000005"))
    #expect(over.status == 200 && over.fulfillments.isEmpty)
  }

  private func tellsVerdicts(_ client: PlayFabClient) async throws {
    for (id, name) in [
      ("1200000000006", "InvalidReceipt 1021"), ("1010000000006", "InvalidReceipt 1021"),
      ("1020000000006", "InvalidReceipt 1021"), ("1440000000006", "InvalidReceipt 1021"),
      ("1450000000006", "DownstreamServiceUnavailable 1127"),
    ] {
      let answer = try await client.validate(jws: try await client.fleet.minted("jws/\(id)"), price: 999, "USD")
      #expect(answer.status == 400 && answer.name == name, "\(id): \(answer.name)")
    }
    let unknown = try await client.restore(try await client.fleet.minted("receipt/1200000000007"))
    #expect(unknown.name == "InvalidReceipt 1021")
    let entitlements = try #require(try await client.fleet.entitlements("\(client.customer)").body).entitlements
    #expect(entitlements.allSatisfy { !$0.told.accessGranted })
  }

  private func refusesBadRequests(_ client: PlayFabClient) async throws {
    let fleet = client.fleet
    let receipt = try await fleet.minted("receipt/1000000000008")
    let jws = try await fleet.minted("jws/1000000000008")
    func check(
      _ answer: PlayFabClient.Answer, _ status: Int, _ name: String, _ line: Int = #line
    ) {
      #expect(answer.status == status && answer.code == status && answer.name == name, "line \(line): \(answer.text)")
    }
    // The ticket.
    check(try await client.send("RestoreIOSPurchases", "{}", ticket: nil), 401, "NotAuthenticated 1074")
    check(try await client.send("RestoreIOSPurchases", "{}", ticket: "x"), 401, "InvalidSessionTicket 1100")
    check(try await client.restore(receipt, customer: 9), 400, "AccountNotFound 1001")
    check(try await client.restore(receipt, publisher: PlayFabClient.closed), 400, "NotAuthorized 1089")
    check(try await client.restore(receipt, publisher: PlayFabClient.withoutApps), 400, "TitleNotActivated 1035")
    // The body.
    check(try await client.send("ValidateIOSReceipt", "{}", type: "text/plain"), 400, "InvalidContentType 1144")
    check(try await client.send("ValidateIOSReceipt", "{"), 400, "InvalidJSONContent 1200")
    check(try await client.send("ValidateIOSReceipt", "{}"), 400, "InvalidParams 1000")
    check(try await client.send("RestoreIOSPurchases", #"{"ReceiptData":7}"#), 400, "InvalidParams 1000")
    let huge = String(repeating: "A", count: 4 << 20)
    check(try await client.restore(huge), 413, "InvalidRequest 1071")
    // The receipt.
    for (path, name) in [
      ("140", "InvalidReceipt 1021"), ("141", "InvalidReceipt 1021"), ("142", "InvalidReceipt 1021"),
      ("143", "InvalidBundleID 1098"),
    ] {
      check(try await client.restore(try await fleet.minted("receipt/\(path)0000000008")), 400, name)
      check(try await client.validate(jws: try await fleet.minted("jws/\(path)0000000008"), price: 999), 400, name)
    }
    check(try await client.restore("TUlJVA=="), 400, "InvalidReceipt 1021")
    check(try await client.restore(jws), 400, "InvalidReceipt 1021")
    for old in [
      try await client.restore(RunningFleet.transactionReceipt),
      try await client.validate(receipt: RunningFleet.transactionReceipt, price: 999),
    ] {
      check(old, 400, "InvalidReceipt 1021")
      #expect(old.text.contains("transaction receipt of iOS 6"))
    }
    check(try await client.validate(jws: receipt, price: 999), 400, "InvalidReceipt 1021")
    let two = try await fleet.minted("receipt/1000000000008?also=1100000000008")
    check(try await client.validate(receipt: two, price: 999), 400, "ReceiptContainsMultipleInAppItems 1097")
    let sandbox = try await fleet.minted("jws/1210000000008")
    check(
      try await client.validate(jws: sandbox, price: 999, publisher: PlayFabClient.production), 400,
      "InvalidEnvironmentForReceipt 1300")
    // The catalog and the price.
    check(try await client.restore(receipt, version: "6"), 400, "NoMatchingCatalogItemForReceipt 1178")
    check(
      try await client.restore(receipt, publisher: PlayFabClient.production), 400,
      "NoMatchingCatalogItemForReceipt 1178")
    check(try await client.validate(jws: jws, price: 999, "EUR"), 400, "InvalidCurrencyCode 1179")
    check(try await client.validate(receipt: receipt, price: 999, "XYZ"), 400, "InvalidCurrencyCode 1179")
    check(try await client.validate(receipt: receipt, price: 998, "USD"), 400, "InvalidParams 1000")

    // The method.
    check(try await client.send("GetPlayerProfile", "{}"), 404, "InvalidRequest 1071")
    let got = try await fleet.send("GET", fleet.url("/Client/RestoreIOSPurchases"))
    check(try PlayFabClient.Answer(got), 405, "InvalidRequest 1071")
    #expect(got.header("allow") == "POST")

    // Every error can also come with HTTP 200.
    let hidden = try await client.send("RestoreIOSPurchases", "{}", ticket: nil, asSuccess: true)
    #expect(hidden.status == 200 && hidden.code == 401 && hidden.name == "NotAuthenticated 1074")

    // Jobs run in their order, so a job of an earlier request would have left its row by now.
    #expect(try await client.validate(jws: jws, price: 999).error == nil)
    for table in ["purchases", "synchronizations", "ownerships"] {
      #expect(try await client.count(table) == 1, "\(table)")
    }
  }

  private func refusesEmptyAndSandbox(_ client: PlayFabClient) async throws {
    let empty = try await client.fleet.minted("receipt")
    #expect(try await client.restore(empty).name == "ReceiptDoesNotContainInAppItems 1096")
    #expect(try await client.validate(receipt: empty, price: 1).name == "ReceiptDoesNotContainInAppItems 1096")
    let sandbox = try await client.fleet.minted("jws/1210000000009")
    let refused = try await client.validate(jws: sandbox, price: 999, publisher: PlayFabClient.withoutSandbox)
    #expect(refused.name == "InvalidEnvironmentForReceipt 1300")
    // The purchase does not name the customer, and the publisher asks for that.
    let jws = try await client.fleet.minted("jws/1000000000009")
    let unproven = try await client.validate(jws: jws, price: 999, publisher: PlayFabClient.withProof)
    #expect(unproven.name == "NotAuthorized 1089")
  }

  @Test(.breakingServers) func `a server that is away is told as such, and nothing is kept`() async throws {
    let servers = try #require(TestServers.current)
    try await PlayFabClient.with(Self.roles) { client in
      let jws = try await client.fleet.minted("jws/1000000000011")
      try await servers.stop(.rabbitmq)
      let answer = try await client.validate(jws: jws, price: 999)
      #expect(answer.status == 503 && answer.code == 503 && answer.name == "ServiceUnavailable 1123")
      let receipt = try await client.fleet.minted("receipt/1000000000011")
      #expect(try await client.restore(receipt).name == "ServiceUnavailable 1123")
      #expect(try await client.count("purchases") == 0)
      try await servers.start(.rabbitmq)
      try await eventually("the door is open again") {
        try await client.validate(jws: jws, price: 999).error == nil
      }
    }
  }

  @Test func `a client that Apple keeps waiting loses nothing`() async throws {
    let limits = [
      "COUNTERSIGN_GATEWAY_DOORS_PLAYFAB_WAIT_SECONDS": "2", "COUNTERSIGN_GATEWAY_DOORS_MAX_WAITING": "1",
    ]
    try await PlayFabClient.with(["gateway-1"], overrides: limits) { client in
      var (number, jws) = (10, "")
      var answers: [String] = []
      // Only one of two requests may wait. If the machine stands still between them, each has waited alone.
      try await eventually("one of two requests is refused") {
        let purchase = try await client.fleet.minted("jws/10000000000\(number)")
        let first = Task { @LoopActor in try await client.validate(jws: purchase, price: 999) }
        let second = try await client.validate(jws: purchase, price: 999)
        answers = [try await first.value, second].map { "\($0.status) \($0.name)" }
        (number, jws) = (number + 1, purchase)
        return answers.contains { $0.hasPrefix("429") }
      }
      #expect(
        answers.sorted() == [
          "400 DownstreamServiceUnavailable 1127", "429 APIConcurrentRequestLimitExceeded 1342",
        ])
      // The worker that comes now finds the job.
      try client.fleet.start("worker-1")
      try await client.fleet.ready("worker-1")
      try await eventually("the purchase is the customer's") {
        try await client.fleet.entitlements("7").body?.entitlements.map(\.offerId) == ["S1"]
      }
      #expect(try await client.validate(jws: jws, price: 999).error == nil)
    }
  }
}
