import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Sandbox access by hand at a running fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct SandboxOverrideFleetTests {
  private nonisolated static let publisher = RunningFleet.openPublisher
  /// It is in the sandbox only, and runs.
  private nonisolated static let transaction = "1210000000001"

  private func send(
    _ fleet: RunningFleet, _ method: String, _ path: String = "sandbox-access", _ body: String? = nil
  ) async throws -> (status: Int, text: String) {
    let answer = try await fleet.send(
      method, fleet.url("/customers/7/\(path)"), RunningFleet.publisherHeaders(Self.publisher), body)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  private func put(_ fleet: RunningFleet, for time: Duration, note: String = "") async throws -> (Int, String) {
    let end = Int64(Date().timeIntervalSince1970 * 1000) + Int64(time / .milliseconds(1))
    return try await send(
      fleet, "PUT", "sandbox-access", #"{"reason":"testing","until":"\#(rfc3339(milliseconds: end))"\#(note)}"#)
  }

  private func result(_ fleet: RunningFleet, _ id: String) async throws -> String? {
    let answer = try await fleet.register(Self.transaction, customer: 7, publisher: Self.publisher, id: id)
    #expect(answer.status == 202)
    return try await fleet.finished([id]).last { $0.synchronizationId == id }?.result
  }

  private func hasAccess(_ fleet: RunningFleet) async throws -> Bool {
    try await send(fleet, "GET", "entitlements/S1").text.contains(#""accessGranted":true"#)
  }

  @Test func `a tester who was refused gets access until a date, and a worker ends it`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await result(fleet, "refused") == "SANDBOX_NOT_ALLOWED")
      #expect(try await !hasAccess(fleet))
      #expect(try await send(fleet, "GET").status == 404)
      #expect(try await send(fleet, "DELETE").status == 404)
      #expect(try await put(fleet, for: .seconds(91 * 86_400)).0 == 400)
      let set = try await put(fleet, for: .seconds(3600), note: #","note":"Ticket 4711""#)
      #expect(set.0 == 201 && set.1.contains(#""state":"open""#) && set.1.contains("Ticket"), "\(set.1)")
      #expect(try await result(fleet, "again") == "PURCHASE_SYNCHRONIZED")
      #expect(try await hasAccess(fleet))
      // The date is brought forward, and comes by the clock. A gateway that looks after it refuses it.
      try await eventually("the date is brought forward") { try await put(fleet, for: .seconds(2)).0 == 200 }
      let changes = try await fleet.changes.wait { $0.contains { $0.after?.accessGranted == false } }
      #expect(changes.map { $0.after?.accessGranted }.last == false)
      let bodies = changes.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(bodies.allSatisfy { $0.contains(#""cause":"sandboxAccess""#) }, "\(bodies)")
      #expect(!bodies.joined().contains("Ticket"))
      #expect(try await !hasAccess(fleet))
      #expect(try await send(fleet, "GET").text.contains(#""state":"ended""#))
      #expect(try await result(fleet, "late") == "SANDBOX_NOT_ALLOWED")
      try await eventually("the worker has counted the end") {
        try await fleet.metric("worker-1", "countersign_sandbox_access_lag_seconds_count") == 1
      }
      #expect(try await fleet.metric("gateway-1", #"countersign_sandbox_access_total{action="set"}"#) == 2)
    }
  }

  @Test func `it is withdrawn before its end, once`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await put(fleet, for: .seconds(3600)).0 == 201)
      #expect(try await result(fleet, "bought") == "PURCHASE_SYNCHRONIZED")
      for _ in 1...2 {
        let answer = try await send(fleet, "DELETE")
        #expect(answer.status == 200 && answer.text.contains(#""state":"withdrawn""#), "\(answer.text)")
      }
      #expect(try await !hasAccess(fleet))
      let changes = try await fleet.changes.wait { $0.contains { $0.after?.accessGranted == false } }
      #expect(changes.last?.before?.accessGranted == true)
      #expect(try await fleet.metric("gateway-1", #"countersign_sandbox_access_total{action="withdrawn"}"#) == 1)
      let customer = [(name: "Authorization", value: "Bearer \(jwt(customer: 7, publisher: Self.publisher))")]
      for method in ["GET", "PUT", "DELETE"] {
        let answer = try await fleet.send(
          method, fleet.url("/customers/7/sandbox-access"), customer + [("Content-Type", "application/json")],
          method == "PUT" ? "{}" : nil)
        #expect(answer.status == 401, "\(method)")
      }
    }
  }
}
