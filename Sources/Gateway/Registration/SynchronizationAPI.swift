import Coordination
import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Accepts synchronizations of a caller's purchases, and tells their status.
@LoopActor
struct SynchronizationAPI {
  let context: RoleContext
  let registration: Registration
  let metrics: GatewayMetrics
  let caller: Caller

  /// Accepts a registration.
  func register(_ call: Call) async throws(Problem) -> HTTPServerResponse { try await accept(call, .registration) }

  /// Accepts a transfer: a job that goes the way of a registration.
  func transfer(_ call: Call) async throws(Problem) -> HTTPServerResponse { try await accept(call, .transfer) }

  private func accept(_ call: Call, _ kind: Job.Kind) async throws(Problem) -> HTTPServerResponse {
    let trace = TraceParent(of: call.request.header("traceparent"))
    let counter = kind == .transfer ? metrics.transfers : metrics.registrations
    let answer: Registration.Answer
    do {
      answer = await registration.register(try RegistrationRequest(call.request), kind, by: caller, trace: trace)
    } catch {
      counter.count(error.code)
      throw error
    }
    switch answer {
    case .accepted(let id):
      counter.count(GatewayMetrics.accepted)
      var response = jsonResponse(202, written: JSONWriter.object { $0.member("synchronizationId", id) })
      response.headers.append(("Location", statusPath(id)))
      return response
    case .refused(_, let problem):
      counter.count(problem.code)
      throw problem
    }
  }

  /// Tells the status of a synchronization, with the access that its customer has now.
  func status(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = SynchronizationId(call[.synchronizationId])
    guard SynchronizationId.isValid(id.text) else {
      throw .invalidPath("synchronizationId: expected 1 to 256 visible ASCII characters")
    }
    // The ledger comes first: a copy in Redis never knows of the end before the ledger does.
    var found = try await finalized(id)
    if found?.status != .finalized {
      found =
        try await context.asking { try await registration.open.synchronization(caller.publisher.id, id) } ?? found
      // It was finalized in between. Redis knows that, and not the result.
      if found?.status == .finalized { found = try await finalized(id) }
    }
    guard let found, caller.mayActFor(found.customerId) else {
      throw .notFound(
        "This credential sees no synchronization with this id. A finalized one is kept for a time "
          + "(worker.statusRetentionSeconds), and a customer's token sees its own customer's only.")
    }
    let present = try await context.asking {
      try await registration.results.atPresent(found, caller.publisher, now: context.now())
    }
    return StatusAnswer(present).response
  }

  /// What the ledger knows of a synchronization that the caller may see.
  private func finalized(_ id: SynchronizationId) async throws(Problem) -> Synchronization? {
    try await context.asking { try await registration.synchronizations.synchronizations(caller.publisher.id, id) }
      .first { caller.mayActFor($0.customerId) }
  }
}
