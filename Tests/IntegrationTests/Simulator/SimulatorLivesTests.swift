import AppStore
import Domain
import EventLoop
import Fleets
import Formats
import HTTP
import Simulator
import TestSupport
import Testing

/// Lives, as the control API and the App Store Server API show them.
struct SimulatorLivesTests {
  private let id = "2000000000000001"

  @Test @LoopActor
  func aLifeIsWhatAppleSigns() async throws {
    try await RunningSimulator.with { simulator async throws in
      let token = "7f1e2a3b-0000-4000-8000-000000000001"
      let begun = try await simulator.begin(id, #"{"periodSeconds": 7200, "appAccountToken": "\#(token)"}"#)
      #expect(begun.state == "active" && begun.hasAccess && begun.willRenew == true && begun.transactions.count == 1)
      let before = unixMilliseconds()
      let payload = try await simulator.signed(id)
      #expect(payload.appAccountToken == token && payload.expiresDate == begun.accessUntil)
      #expect(try #require(payload.signedDate) >= before)
      #expect(payload.productId == "com.example.video.monthly")

      let refunded = try await simulator.happens("refund", to: id)
      #expect(refunded.state == "revoked" && !refunded.hasAccess && refunded.accessUntil == nil)
      #expect(refunded.revoked == [id])
      let revoked = try await simulator.signed(id)
      #expect(revoked.revocationDate == refunded.transactions[0].revocationDate)
      #expect(try #require(revoked.signedDate) > #require(payload.signedDate))
      let last = try #require(try await simulator.statuses(id).first)
      #expect(last.status == 5)
      let renewal = try simulator.signedDataVerifier().renewalInfo(
        last.signedRenewalInfo, belongingTo: simulator.verified(last.signedTransactionInfo))
      #expect(renewal.payload?.autoRenewStatus == .off)
      #expect(try await simulator.happens("reverse", to: id).state == "active")
      #expect(try await simulator.signed(id).revocationDate == nil)
    }
  }

  /// The other environment does not know a life, nor does another app; a scenario's id stays what it was.
  @Test @LoopActor
  func aLifeBelongsToOneAppAndEnvironment() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin("1000000000000001", #"{"environment": "sandbox", "product": "yearly"}"#)
      #expect(try await simulator.transaction("1000000000000001").status == 404)
      #expect(try await simulator.transaction("1000000000000001", in: "sandbox").status == 200)
      #expect(try await simulator.transaction("1000000000000002").status == 200)
      try await simulator.begin("2000000000000002", #"{"bundleId": "com.example.music"}"#)
      #expect(
        try await simulator.transaction("2000000000000002").decoded(as: FailureBody.self).errorCode == 4_040_010)
    }
  }

  @Test @LoopActor
  func itRenewsByItself() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id, #"{"periodSeconds": 0.2}"#)
      try await eventually("two renewals") { try await simulator.life(id).transactions.count >= 3 }
      let life = try await simulator.happens("renew", to: id, #"{"periodSeconds": 7200}"#)
      let dates = life.transactions.map(\.purchaseDate)
      #expect(dates == dates.sorted() && life.willRenew == true)
      // Every transaction leads to the life.
      let latest = try #require(life.transactions.last)
      #expect(try await simulator.signed(latest.transactionId).originalTransactionId?.text == id)
      #expect(try await simulator.life(latest.transactionId).originalTransactionId == id)
    }
  }

  @Test @LoopActor
  func historyHasPages() async throws {
    try await RunningSimulator.with { simulator async throws in
      let begun = try await simulator.begin(id, #"{"periodSeconds": 7200, "ageSeconds": 180000}"#)
      #expect(begun.transactions.count == 26)
      var (ids, revision): ([String], String) = ([], "")
      for size in [20, 6] {
        let query = revision.isEmpty ? "" : "?revision=\(revision)"
        let page = try await simulator.call("v2/history/\(id)\(query)").decoded(as: PageBody.self)
        #expect(page.signedTransactions.count == size && page.hasMore == (size == 20))
        ids += try page.signedTransactions.map { try simulator.verified($0).transactionId?.text ?? "" }
        revision = page.revision
      }
      #expect(ids == begun.transactions.map(\.transactionId))
      let news = "v2/history/\(id)?revision=\(revision)"
      #expect(try await simulator.call(news).decoded(as: PageBody.self).signedTransactions.isEmpty)
      try await simulator.happens("refund", to: id, #"{"transactionId": "\#(ids[2])"}"#)
      let page = try await simulator.call(news).decoded(as: PageBody.self)
      #expect(try page.signedTransactions.map { try simulator.verified($0).transactionId?.text } == [ids[2]])
      #expect(try await simulator.call("v2/history/\(id)?sort=UP").decoded(as: FailureBody.self).errorCode == 4_000_021)
    }
  }

  @Test @LoopActor
  func anUpgradeCanBecomeAPurchaseOfItsOwn() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id)
      let old = try await simulator.happens("upgrade", to: id, #"{"originalTransactionId": "2000000000000099"}"#)
      #expect(old.state == "upgraded" && old.successor == "2000000000000099" && !old.hasAccess)
      let new = try await simulator.signed("2000000000000099")
      #expect(new.previousOriginalTransactionId?.text == id && new.productId == "com.example.video.yearly")
      // One customer has both.
      let statuses = try await simulator.statuses(id)
      #expect(Set(statuses.map { "\($0.originalTransactionId) \($0.status)" }) == ["\(id) 2", "2000000000000099 1"])
      let history = try await simulator.call("v2/history/2000000000000099").decoded(as: HistoryBody.self)
      #expect(history.signedTransactions.count == 2)
      #expect(
        try await simulator.call("v1/subscriptions/\(id)?status=1").decoded(as: SubscriptionsBody.self).data.first?
          .lastTransactions.count == 1)

      // Within one purchase, the old transaction is marked.
      try await simulator.begin("2000000000000003")
      let same = try await simulator.happens("upgrade", to: "2000000000000003")
      #expect(same.state == "active" && same.transactions.map(\.isUpgraded) == [true, nil])
    }
  }

  @Test @LoopActor
  func aFamilyLosesWhatWasPaidBack() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id)
      try await simulator.begin("2000000000000005", #"{"owner": "\#(id)", "periodSeconds": 7200}"#)
      #expect(try await simulator.signed("2000000000000005").inAppOwnershipType == .familyShared)
      try await simulator.happens("refund", to: id)
      let member = try await simulator.life("2000000000000005")
      #expect(member.state == "revoked" && !member.hasAccess)
      #expect(try await simulator.signed("2000000000000005").revocationType == .familyRevoke)
    }
  }

  @Test @LoopActor
  func anAppHoldsTheLife() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id, #"{"periodSeconds": 7200, "trial": true, "offerPeriod": "P1Y"}"#)
      let life = try await simulator.happens("renew", to: id)
      let jws = try await simulator.control("GET", "jws/\(id)")
      #expect(try simulator.verified(String(decoding: jws.body, as: UTF8.self)).offerDiscountType == .freeTrial)
      let answer = try await simulator.control("GET", "receipt/\(id)")
      let verifier = ReceiptVerifier(roots: try TrustedRoots(files: [simulator.folder + "/root.der"]))
      let receipt = try #require(
        verifier.receipt(
          String(decoding: answer.body, as: UTF8.self),
          expecting: AcceptedApps([AcceptedApps.App(bundleId: BundleId(RunningSimulator.app.bundleId.text))])
        ).payload)
      #expect(receipt.inApp.compactMap(\.transactionId?.text) == life.transactions.map(\.transactionId))
      #expect(receipt.inApp.map(\.isTrialPeriod) == [true, false])
    }
  }

  @Test @LoopActor
  func manyLivesBeginAtOnce() async throws {
    try await RunningSimulator.with { simulator async throws in
      let lines = (0..<2500).map { #"{"originalTransactionId": "\#(3_000_000 + $0)", "periodSeconds": 7200}"# }
      #expect(try await simulator.control("PUT", "lives", lines.joined(separator: "\n") + "\n").status == 201)
      var (ids, after): ([String], String?) = ([], nil)
      repeat {
        let page = try await simulator.control("GET", "lives?limit=1000\(after.map { "&after=\($0)" } ?? "")")
        let body = try page.decoded(as: LivesBody.self)
        #expect(body.count == 2500)
        ids += body.lives.map(\.originalTransactionId)
        after = body.next
      } while after != nil
      #expect(ids == (0..<2500).map { String(3_000_000 + $0) })

      let mixed = "{\"originalTransactionId\": \"7\"}\n{}\n{\"originalTransactionId\": \"7\"}\nx"
      let answer = try await simulator.control("PUT", "lives", mixed)
      #expect(answer.status == 400)
      let refused = try answer.decoded(as: RefusedBody.self)
      #expect(refused.begun == 1 && refused.refused.map(\.line) == [2, 3, 4])
    }
  }

  @Test @LoopActor
  func timeCanBeHeld() async throws {
    try await RunningSimulator.with { simulator async throws in
      #expect(try await simulator.control("PUT", "time", #"{"held": true}"#).status == 200)
      // Its first period has ended long ago.
      let old = try await simulator.begin(id, #"{"periodSeconds": 3600, "ageSeconds": 9000}"#)
      #expect(old.transactions.count == 1 && !old.hasAccess && old.state == "active")
      #expect(try await simulator.happens("renew", to: id).transactions.count == 2)
      #expect(try await simulator.control("PUT", "time", #"{"held": false}"#).status == 200)
      let life = try await simulator.life(id)
      #expect(life.transactions.count == 3 && life.hasAccess)
      #expect(try await simulator.control("PUT", "time", "{}").status == 400)
      #expect(try await simulator.control("POST", "time").status == 405)
      #expect(try await simulator.control("GET", "time").status == 200)
    }
  }

  @Test @LoopActor
  func mistakesAreRefused() async throws {
    try await RunningSimulator.with { simulator async throws in
      try await simulator.begin(id)
      func status(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
        try await simulator.control(method, path, body).status
      }
      #expect(try await status("PUT", "lives/\(id)") == 409)
      #expect(try await status("PUT", "lives/7", #"{"prodcut": "yearly"}"#) == 400)
      #expect(try await status("GET", "lives/7") == 404)
      #expect(try await status("POST", "lives/7/renew") == 404)
      #expect(try await status("POST", "lives/\(id)/explode") == 404)
      #expect(try await status("POST", "lives/\(id)/recover") == 409)
      #expect(try await status("POST", "lives/\(id)/upgrade", #"{"originalTransactionId": "\#(id)"}"#) == 409)
      #expect(try await status("POST", "lives/\(id)") == 405)
      #expect(try await status("GET", "lives/\(id)/renew") == 405)
      #expect(try await status("POST", "lives") == 405)
      for path in ["lives/abc", "lives/\(id)?x=1", "lives?limit=0", "lives?limit=1001", "lives?x=1", "lives/\(id)/a/b"]
      {
        #expect(try await status("GET", path) == 404, "\(path)")
      }
      #expect(try await status("GET", "lives?after=7") == 404)
      #expect(try await simulator.life(id).transactions.count == 1)
      let inProcess = await simulator.simulator.control("GET", "/simulator/lives/\(id)")
      #expect(inProcess.status == 200 && !inProcess.body.isEmpty)
    }
  }

  private struct PageBody: Decodable {
    var hasMore: Bool
    var revision: String
    var signedTransactions: [String]
  }

  private struct RefusedBody: Decodable {
    struct Line: Decodable { var line: Int }

    var begun: Int
    var refused: [Line]
  }
}
