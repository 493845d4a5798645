import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Answers a publisher's requests about customers whose purchases from the sandbox give access until a date.
@LoopActor
struct SandboxOverrideAPI {
  let context: RoleContext
  let overrides: SandboxOverrides
  /// Publishes the events of the gateway's own commits.
  let outlet: EventOutlet
  let metrics: GatewayMetrics
  let publisher: Publisher

  private nonisolated static let limits = SandboxOverrideLimits()

  func put(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let wish = try requestedSandboxOverride(call.request, customer: try customer(call), now: context.now())
    let trace = TraceParent(of: call.request.header("traceparent"))
    let answer = try await context.asking {
      do {
        return try await overrides.put(
          wish, publisher: publisher, limits: Self.limits, traceparent: trace.description)
      } catch let refusal as SandboxOverrideRefusal {
        if refusal == .tooMany { metrics.limited(.sandboxAccess, publisher.id) }
        throw Problem(refusal, Self.limits)
      }
    }
    guard let answer else { throw .noCustomer }
    let status = answer.change == .begun ? 201 : 200
    return finish(answer, trace, status: status)
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    guard let last = try await context.asking({ try await overrides.last(of: customer) }) else { throw Self.none }
    return jsonResponse(200, written: Self.document(last, now: context.now()))
  }

  func withdraw(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    try requireOnly([], call.request)
    let trace = TraceParent(of: call.request.header("traceparent"))
    let answer = try await context.asking {
      try await overrides.withdraw(
        of: customer, publisher: publisher, now: context.now(), traceparent: trace.description)
    }
    guard let answer else { throw Self.none }
    return finish(answer, trace, status: 200)
  }

  private nonisolated static var none: Problem { .notFound("Nobody has given this customer sandbox access by hand.") }

  private func customer(_ call: Call) throws(Problem) -> CustomerKey {
    CustomerKey(publisherId: publisher.id, id: try customerId(call[.customerId]))
  }

  private func finish(
    _ answer: consuming SandboxOverrides.Answer, _ trace: TraceParent, status: Int
  ) -> HTTPServerResponse {
    let (override, change) = (answer.override, answer.change)
    if change != .nothing {
      let action = change == .withdrawn ? GatewayMetrics.withdrawn : GatewayMetrics.set
      metrics.sandboxAccess.count(action)
      context.log.info(
        "sandbox access \(action)",
        [
          "publisherId": .int(publisher.id.number), "reason": .string(override.reason.rawValue),
          "traceId": .string(trace.traceId),
        ])
    }
    outlet.publish(answer.takeTold())
    return jsonResponse(status, written: Self.document(override, now: context.now()))
  }

  /// An override as the API shows it, with the members in the order of their names.
  nonisolated static func document(_ override: SandboxOverride, now: Int64) -> [UInt8] {
    JSONWriter.object { writer in
      writer.customer(override.customer.id)
      writer.time("endedAt", override.endedAt)
      writer.member("note", override.note)
      writer.member("reason", override.reason.rawValue)
      writer.time("setAt", override.setAt)
      writer.member("state", override.state(at: now).rawValue)
      writer.time("until", override.endsAt)
    }
  }
}
