import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Answers a publisher's requests about access that its people give by hand.
@LoopActor
struct GrantAPI {
  let context: RoleContext
  let grants: Grants
  /// Publishes the events of the gateway's own commits.
  let outlet: EventOutlet
  let metrics: GatewayMetrics
  let publisher: Publisher

  func give(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    let fresh = try await context.asking { GrantId(random: try secureRandomBytes(16)) }
    let grant = try requestedGrant(call.request, customer: customer, fresh: fresh, now: context.now())
    let limits = context.settings.gateway.limits.grants
    let trace = TraceParent(of: call.request.header("traceparent"))
    let answer = try await context.asking {
      do {
        return try await grants.give(grant, publisher: publisher, limits: limits, traceparent: trace.description)
      } catch let refusal as GrantRefusal {
        if let limit = refusal.limit { metrics.limited(limit, publisher.id) }
        throw Problem(refusal, limits, now: grant.createdAt)
      }
    }
    guard let answer else { throw .noCustomer }
    if answer.isNew { note(GatewayMetrics.given, answer.grant, trace) }
    let (status, document) = (answer.isNew ? 201 : 200, written(answer.grant))
    outlet.publish(answer.takeTold())
    return jsonResponse(status, written: document)
  }

  func withdraw(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    guard let id = GrantId(canonical: call[.grantId]) else { throw .invalidPath("grantId: expected a UUID") }
    try requireOnly([], call.request)
    let trace = TraceParent(of: call.request.header("traceparent"))
    let answer = try await context.asking {
      try await grants.withdraw(
        id, of: customer, publisher: publisher, now: context.now(), traceparent: trace.description)
    }
    guard let answer else { throw .notFound("The customer has no grant with this id.") }
    if answer.isNew { note(GatewayMetrics.withdrawn, answer.grant, trace) }
    let document = written(answer.grant)
    outlet.publish(answer.takeTold())
    return jsonResponse(200, written: document)
  }

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    let page = try PageRequest(call.request)
    let start = try page.start(Grants.Place.init(cursor:))
    var found = try await context.asking { try await grants.list(customer, after: start, limit: page.wanted) }
    let next = page.cut(&found).map { Grants.Place($0).cursor }
    let now = context.now()
    return jsonResponse(200, written: Self.list(found, of: customer.id, next: next, now: now))
  }

  private func customer(_ call: Call) throws(Problem) -> CustomerKey {
    CustomerKey(publisherId: publisher.id, id: try customerId(call[.customerId]))
  }

  private func written(_ grant: Grant) -> [UInt8] {
    JSONWriter.object { Self.write(grant, now: context.now(), to: &$0) }
  }

  private func note(_ action: String, _ grant: Grant, _ trace: TraceParent) {
    metrics.grants.count(action)
    context.log.info(
      "grant \(action)",
      [
        "publisherId": .int(publisher.id.number), "grantId": .string(grant.id.text),
        "reason": .string(grant.reason.rawValue), "traceId": .string(trace.traceId),
      ])
  }

  // MARK: Answers

  /// A page of a customer's grants. It ends earlier if they are long.
  nonisolated static func list(
    _ grants: [Grant], of customer: CustomerId, next: String?, now: Int64, most: Int = PageText<Grant>.most
  ) -> [UInt8] {
    let page = PageText(grants, most: most) { grant in JSONWriter.object { write(grant, now: now, to: &$0) } }
    return JSONWriter.object { list in
      list.time("asOf", now)
      list.customer(customer)
      list.member("grants", array: page.elements)
      list.member("nextCursor", page.end.map { Grants.Place($0).cursor } ?? next)
    }
  }

  /// Writes a grant, in the order of the members' names.
  nonisolated static func write(_ grant: Grant, now: Int64, to writer: inout JSONWriter) {
    writer.time("createdAt", grant.createdAt)
    writer.customer(grant.customer.id)
    writer.time("expiresAt", grant.endsAt)
    writer.member("grantId", grant.id)
    writer.member("note", grant.note)
    writer.member("offerId", grant.offerId)
    writer.member("reason", grant.reason.rawValue)
    writer.member("state", grant.state(at: now).rawValue)
    writer.time("withdrawnAt", grant.withdrawnAt)
  }
}

extension Grants.Place {
  init(_ grant: Grant) { self.init(createdAt: grant.createdAt, id: grant.id) }

  /// Reads a cursor that ``cursor`` wrote; `nil` for any other text.
  init?(cursor: String) {
    guard let parts = PageRequest.timeAndId(cursor), let canonical = AppAccountToken.canonical(parts.id) else {
      return nil
    }
    // A place between grants may have any UUID, also that of zeros, which no grant has.
    let id = GrantId(canonical.text)
    guard id == GrantId(parts.id) else { return nil }
    self.init(createdAt: parts.time, id: id)
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var cursor: String { "\(createdAt)-\(id)" }
}
