import EventLoop
import Fleets
import Glibc
import JSON
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Waiting at a door, while the client or the worker's reply gets lost.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct DoorWaitTests {
  private let waiting = "countersign_door_requests_waiting"

  /// Begins a validation that waits, because no worker takes its job.
  private func begun(
    _ client: IapticClient, _ transaction: String
  ) async throws -> Task<IapticClient.Answer, any Error> {
    let jws = try client.fleet.simulator.signedTransaction(transaction)
    let task = Task { @LoopActor in try await client.validate(jws: jws, user: "7") }
    let fleet = client.fleet
    try await eventually("the job is accepted") { !fleet.logged("\"event\":\"registered\"").isEmpty }
    return task
  }

  @Test func `a client that hangs up loses nothing`() async throws {
    // The wait of a request does not end by itself while the test looks.
    let overrides = ["COUNTERSIGN_GATEWAY_DOORS_IAPTIC_WAIT_SECONDS": "60"]
    try await RunningFleet.with(["gateway-1"], overrides: overrides, throughProxies: true) { fleet in
      let client = IapticClient(fleet: fleet, isFresh: true)
      let validation = try await begun(client, "1000000000951")
      fleet.network?[FleetNetwork.Link("client", "gateway-1")].cut()
      await #expect(throws: (any Error).self) { try await validation.value }
      // The request waits on, and the client has not sent another one.
      #expect(try await fleet.metric("gateway-1", waiting) == 1)
      #expect(fleet.logged("\"event\":\"registered\"").count == 1)

      try fleet.start("worker-1")
      try await fleet.ready("worker-1")
      let event = try await fleet.events.wait(for: 1)[0]
      #expect(event.result == "PURCHASE_SYNCHRONIZED" && event.originalTransactionId == "1000000000951")
      #expect(try await fleet.purchase("1000000000951", environment: "Production").body?.customerId == "7")
      try await eventually("nobody waits") { try await fleet.metric("gateway-1", waiting) == 0 }
      // The place is free, and the next request is answered.
      let again = try await client.validate(
        jws: try fleet.simulator.signedTransaction("1000000000951"), user: "7")
      #expect(again["ok"] == .bool(true) && again.collection.count == 1)
    }
  }

  @Test func `the ledger answers when the worker's reply gets lost`() async throws {
    // On a machine that stands still the worker may end the job later.
    var isAnswered = try await isAnsweredByLedger(within: 6)
    if !isAnswered { isAnswered = try await isAnsweredByLedger(within: 60) }
    #expect(isAnswered)
  }

  /// Whether a purchase is shown whose reply got lost.
  ///
  /// - Parameter seconds: how long the request waits. The door looks into the ledger when most of it is over, and the
  ///   worker must have ended the job by then.
  private func isAnsweredByLedger(within seconds: Int) async throws -> Bool {
    let overrides = ["COUNTERSIGN_GATEWAY_DOORS_IAPTIC_WAIT_SECONDS": "\(seconds)"]
    var isAnswered = false
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides, throughProxies: true) { fleet in
      let worker = try #require(fleet.roles["worker-1"]).process
      worker.send(SIGSTOP)
      let validation = try await begun(IapticClient(fleet: fleet), "1000000000952")
      // The job is in its queue. From now on nothing comes from the broker to the gateway.
      let broker = try #require(fleet.network)[FleetNetwork.Link("gateway-1", "rabbitmq")]
      broker.mode = .stalled
      worker.send(SIGCONT)
      try await fleet.events.wait(for: 1)
      let answer = try await validation.value
      #expect(broker.mode == .stalled)
      #expect(try await fleet.metric("gateway-1", waiting) == 0)
      isAnswered = answer["ok"] == .bool(true) && answer["data", "warning"] == nil
      guard isAnswered else { return }
      #expect(answer.collection.count == 1)
      #expect(answer["data", "collection", "0", "purchaseId"] == .string("1000000000952"))
    }
    return isAnswered
  }
}
