import AppStore
import Domain
import EventLoop
import Formats
import HTTP
import HTTP2
import Simulator
import Testing

/// Look Up Order ID, asked by the roles' own client.
struct SimulatorOrderTests {
  /// The transactions of an order, verified; `nil` if there is no such order.
  @LoopActor
  private func transactions(
    _ id: OrderId, _ simulator: RunningSimulator, _ apple: (api: AppStoreServerAPI, app: AppCredentials, HTTP2Client)
  ) async throws -> [TransactionPayload]? {
    let answer = try await apple.api.lookUpOrder(id, for: apple.app).body
    guard answer.status == .valid else {
      #expect(answer == OrderLookupResponse(.invalid))
      return nil
    }
    return try answer.signedTransactions.map { try simulator.verified($0) }
  }

  @Test @LoopActor
  func anOrderHasItsTransactions() async throws {
    try await RunningSimulator.with { simulator async throws in
      let apple = simulator.api()
      defer { apple.2.close() }
      let one = try #require(try await transactions("M100000000000001", simulator, apple))
      #expect(one.map(\.transactionId) == ["100000000000001"])
      let two = try #require(try await transactions("M102000000000001M110000000000002", simulator, apple))
      #expect(two.map(\.transactionId) == ["102000000000001", "110000000000002"])
      #expect(two[0].revocationDate != nil && two[1].revocationDate == nil)
      for unknown in ["MK5TTTVWJH", "M120000000000001", "M100000000000001M120000000000001"] {
        #expect(try await transactions(OrderId(unknown), simulator, apple) == nil, "\(unknown)")
      }
    }
  }

  @Test @LoopActor
  func aLifeHasAnOrderForEachTransaction() async throws {
    try await RunningSimulator.with { simulator async throws in
      let apple = simulator.api()
      defer { apple.2.close() }
      let id = "2000000000000001"
      try await simulator.begin(id)
      try await simulator.happens("renew", to: id)
      let truth = String(decoding: try await simulator.control("GET", "lives/\(id)").body, as: UTF8.self)
      #expect(truth.contains(#""orderId":"M2000000000000001""#), "\(truth)")
      let renewal = try #require(try await simulator.life(id).transactions.last?.transactionId)
      let found = try #require(try await transactions(OrderId("M\(renewal)"), simulator, apple))
      #expect(found.map(\.transactionId?.text) == [renewal] && found[0].originalTransactionId?.text == id)
      // Another app's orders, and those of the sandbox, are unknown.
      try await simulator.begin("2000000000000002", #"{"bundleId": "com.example.music", "periodSeconds": 7200}"#)
      try await simulator.begin("2000000000000003", #"{"environment": "sandbox", "periodSeconds": 7200}"#)
      #expect(try await transactions("M2000000000000002", simulator, apple) == nil)
      #expect(try await transactions("M2000000000000003", simulator, apple) == nil)
    }
  }

  @Test @LoopActor
  func callersAndIdsAreChecked() async throws {
    try await RunningSimulator.with { simulator async throws in
      #expect(try await simulator.call("v1/lookup/M100000000000001").status == 200)
      #expect(try await simulator.call("v1/lookup/M100000000000001", token: "x").status == 401)
      #expect(try await simulator.call("v1/lookup/M100000000000001", in: "sandbox").status == 404)
      #expect(try await simulator.send("POST", "v1/lookup/M1").status == 405)
      for wrong in ["m1", "M1?a=1"] {
        let answer = try await simulator.call("v1/lookup/\(wrong)")
        #expect(try answer.decoded(as: FailureBody.self).errorCode == 4_000_000, "\(wrong)")
      }
    }
  }

  @Test @LoopActor
  func faultsAreThoseOfTheTransaction() async throws {
    try await RunningSimulator.with { simulator async throws in
      let limited = try await simulator.call("v1/lookup/M130000000000001")
      #expect(limited.status == 429 && limited.header("retry-after") != nil)
      #expect(try await simulator.call("v1/lookup/M130000000000001").status == 200)
      #expect(try await simulator.call("v1/lookup/M132000000000001").status == 500)
      #expect(try await simulator.call("v1/lookup/M122000000000001").status == 401)
      let forged = try await simulator.call("v1/lookup/M141000000000001").decoded(as: OrderLookupResponse.self)
      let apps = AcceptedApps([AcceptedApps.App(bundleId: BundleId(RunningSimulator.app.bundleId.text))])
      let verdict = try simulator.signedDataVerifier().transaction(
        #require(forged.signedTransactions.first), expecting: apps)
      #expect(verdict.rejection?.reason == .chainUntrusted)
    }
  }
}
