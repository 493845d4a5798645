import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import HTTP
import Simulator
import Testing

/// The simulator's answers to workers, judged by the workers' own verification.
struct SimulatorScenarioTests {
  @Test @LoopActor
  func answersVerify() async throws {
    try await RunningSimulator.with { simulator async throws in
      let id = "100000000000042"
      let transaction = try await simulator.verdict(id).payload
      #expect(transaction?.transactionId?.text == id)
      #expect(transaction?.originalTransactionId?.text == id)
      #expect(transaction?.bundleId == "com.example.video")
      #expect(transaction?.productId == "com.example.video.monthly")
      #expect(transaction?.environment == .production)
      #expect(try await simulator.verdict(id, in: "sandbox").payload?.environment == .sandbox)
      #expect(try await simulator.verdict("110000000000001").payload?.productId == "com.example.video.lifetime")
      #expect(try await simulator.verdict("111000000000001").payload?.productId == "com.example.video.coins")
      #expect(try await simulator.verdict("112000000000001").payload?.productId == "com.example.video.pass")
      #expect(try await simulator.verdict("102000000000001").payload?.revocationDate != nil)
    }
  }

  @Test(arguments: [("100", 1), ("101", 2), ("102", 5), ("103", 4), ("104", 3), ("105", 1), ("106", 1)])
  @LoopActor
  func subscriptionsHaveStatus(prefix: String, status: Int) async throws {
    try await RunningSimulator.with { simulator async throws in
      let id = "\(prefix)000000000001"
      let body = try await simulator.call("v1/subscriptions/\(id)").decoded(as: SubscriptionsBody.self)
      let last = try #require(body.data.first?.lastTransactions.first)
      #expect(last.status == status)
      #expect(last.originalTransactionId == id)
      let transaction = try #require(try simulator.verify(last.signedTransactionInfo).payload)
      let renewal = try simulator.verifier().renewalInfo(last.signedRenewalInfo, belongingTo: transaction)
      #expect(renewal.payload != nil)
    }
  }

  @Test @LoopActor
  func upgradedPurchaseHasTwoTransactions() async throws {
    try await RunningSimulator.with { simulator async throws in
      let (first, latest) = ("105000000000001", "1059000000000001")
      let asked = try await simulator.verdict(first).payload
      #expect(asked?.isUpgraded == true)
      #expect(asked?.productId == "com.example.video.monthly")
      let upgrade = try await simulator.verdict(latest).payload
      #expect(upgrade?.originalTransactionId?.text == first)
      #expect(upgrade?.productId == "com.example.video.yearly")
      let history = try await simulator.call("v2/history/\(first)").decoded(as: HistoryBody.self)
      #expect(!history.hasMore)
      #expect(
        try history.signedTransactions.map { try simulator.verify($0).payload?.transactionId?.text } == [first, latest])
    }
  }

  @Test(arguments: [
    ("140000000000001", Rejection.Reason.signatureInvalid), ("141000000000001", .chainUntrusted),
    ("142000000000001", .markerOIDMissing), ("143000000000001", .bundleIdMismatch),
    ("144000000000001", .environmentMismatch),
  ])
  @LoopActor
  func forgeriesAreRejected(id: String, reason: Rejection.Reason) async throws {
    try await RunningSimulator.with { simulator async throws in
      let rejection = try await simulator.verdict(id).rejection
      #expect(rejection?.reason == reason)
    }
  }

  @Test(arguments: [
    ("120000000000001", "production", 4_040_010), ("120000000000001", "sandbox", 4_040_010),
    ("999000000000001", "production", 4_040_010), ("7", "production", 4_040_010),
    ("121000000000001", "production", 4_040_010), ("132000000000001", "production", 5_000_000),
    ("abc", "production", 4_000_006), ("123456789012345678901", "production", 4_000_006),
    ("123000000000001", "production", 4_000_002), ("123000000000001", "sandbox", 4_000_002),
    ("124000000000001", "production", 4_000_006),
  ])
  @LoopActor
  func failuresHaveApplesBody(id: String, environment: String, code: Int) async throws {
    try await RunningSimulator.with { simulator async throws in
      let answer = try await simulator.transaction(id, in: environment)
      #expect(answer.status == code / 10_000)
      #expect(answer.header("content-type") == "application/json")
      #expect(try answer.decoded(as: FailureBody.self).errorCode == code)
    }
  }

  @Test @LoopActor
  func environmentsDiffer() async throws {
    try await RunningSimulator.with { simulator async throws in
      #expect(try await simulator.transaction("121000000000001", in: "sandbox").status == 200)
      #expect(try await simulator.transaction("122000000000001").status == 401)
      #expect(try await simulator.transaction("122000000000001", in: "sandbox").status == 200)
    }
  }

  @Test @LoopActor
  func failuresPass() async throws {
    try await RunningSimulator.with { simulator async throws in
      let limited = try await simulator.transaction("130000000000001")
      #expect(limited.status == 429)
      #expect(try limited.decoded(as: FailureBody.self).errorCode == 4_290_000)
      let call = try #require(try await simulator.calls().calls.last)
      #expect(limited.header("retry-after") == String(call.time + 1000))
      #expect(try await simulator.transaction("130000000000001").status == 200)

      #expect(try await simulator.transaction("131000000000001").status == 500)
      #expect(try await simulator.transaction("131000000000001").status == 200)
      // Another environment has a count of its own.
      #expect(try await simulator.transaction("131000000000001", in: "sandbox").status == 500)
    }
  }

  @Test @LoopActor
  func connectionBreaksTwice() async throws {
    try await RunningSimulator.with { simulator async throws in
      for _ in 1...2 {
        let error = await #expect(throws: HTTPClientError.self) {
          try await simulator.transaction("134000000000001")
        }
        #expect(error?.code == .interrupted)
      }
      #expect(try await simulator.transaction("134000000000001").status == 200)
      #expect(try await simulator.calls().calls.map(\.status) == [0, 0, 200])
    }
  }

  /// A pause that no client learned of forbids nothing.
  @Test @LoopActor
  func aCutOffAnswerForbidsNothing() async throws {
    try await RunningSimulator.with { simulator async throws in
      var calls: [Simulator.Call] = []
      simulator.simulator.onCall = { calls.append($0) }
      simulator.simulator.weather = .rateLimited(milliseconds: 60_000)
      await #expect(throws: HTTPClientError.self) { try await simulator.transaction("134000000000001") }
      #expect(try await simulator.transaction("100000000000042").status == 429)
      #expect(calls.map(\.status) == [0, 429])
      #expect(calls.map { $0.retryAt == nil } == [true, false])
    }
  }

  @Test @LoopActor
  func bodiesMayBeUseless() async throws {
    try await RunningSimulator.with { simulator async throws in
      let garbage = try await simulator.transaction("145000000000001")
      #expect(garbage.status == 200)
      #expect(throws: (any Error).self) { try garbage.decoded(as: TransactionBody.self) }
      #expect(try await simulator.transaction("146000000000001").body.count > 10_000_000)
    }
  }

  @Test @LoopActor
  func nonSubscriptionsHaveNoStatus() async throws {
    try await RunningSimulator.with { simulator async throws in
      for id in ["110000000000001", "111000000000001", "112000000000001"] {
        #expect(try await simulator.call("v1/subscriptions/\(id)").decoded(as: SubscriptionsBody.self).data.isEmpty)
      }
    }
  }
}

extension RunningSimulator {
  fileprivate func verifier() throws -> SignedDataVerifier {
    SignedDataVerifier(roots: TrustedRoots([try Certificate(der: bytes("\(folder)/root.der"))]))
  }

  fileprivate func verify(
    _ jws: String, in environment: Environment = .production
  ) throws -> Verdict<TransactionPayload> {
    let app = AcceptedApps.App(bundleId: BundleId(Self.app.bundleId.text), environments: [environment])
    return try verifier().transaction(jws, expecting: AcceptedApps([app]))
  }

  fileprivate func verdict(
    _ id: String, in environment: String = "production"
  ) async throws -> Verdict<TransactionPayload> {
    let body = try await transaction(id, in: environment).decoded(as: TransactionBody.self)
    return try verify(body.signedTransactionInfo, in: environment == "sandbox" ? .sandbox : .production)
  }
}
