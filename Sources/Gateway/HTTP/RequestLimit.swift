import AppleCalls
import Configuration
import Coordination
package import Domain
package import EventLoop
import Formats
import Observability
import Service

/// How many reads and writes a second each credential may send to all gateways (`gateway.limits`).
///
/// Most credentials send few: up to a tenth of its rate, a gateway counts by itself, and asks Redis nothing. So a
/// credential may send a tenth more for each gateway.
@LoopActor
package final class RequestLimit {
  private struct Reader: Hashable {
    let publisherId: PublisherId
    let name: ExactText
  }

  private let context: RoleContext
  private let rates: RequestRates
  private let metrics: GatewayMetrics
  private let begun = ContinuousClock.now
  /// Only publishers give credentials out, so no stranger fills the memory. While it is full, Redis is asked.
  private var own = KeyedPace<Reader>(burst: .seconds(1), sharesTheRest: true)

  init(_ context: RoleContext, _ rates: RequestRates, _ metrics: GatewayMetrics) {
    (self.context, self.rates, self.metrics) = (context, rates, metrics)
  }

  /// Counts a read of our own API, or of a door that takes our own tokens.
  ///
  /// - Throws: ``Problem``: 429 LIM0005 or LIM0006. Without Redis nobody is refused.
  package func admit(_ caller: Caller) async throws(Problem) {
    let limits = context.settings.gateway.limits
    let (name, perSecond, limit) =
      switch caller.customerId {
      case let customer?: ("customer:\(customer.text)", limits.customerReadsPerSecond, Limit.customerReads)
      case nil: ("token:\(caller.token?.name ?? "")", limits.readsPerSecond, Limit.publisherReads)
      }
    try await admit(caller.publisher.id, name, RequestCost(1, perSecond: perSecond), limit)
  }

  /// Counts the reads of a request to a door with a credential of the vendor's kind. A publisher's credentials for a
  /// door share one rate.
  ///
  /// - Parameter reads: how many reads the request costs. One that costs more than a second's reads costs those.
  /// - Throws: ``Problem``: 429 LIM0005. Without Redis nobody is refused.
  package func admit(_ publisher: Publisher, at door: Door, reads: Int) async throws(Problem) {
    let cost = RequestCost(reads, perSecond: context.settings.gateway.limits.readsPerSecond)
    try await admit(publisher.id, "door:\(door.rawValue)", cost, .publisherReads)
  }

  /// Counts a request by which a publisher changes something. All tokens of a publisher share one rate.
  ///
  /// - Parameter bytes: of its body.
  /// - Throws: ``Problem``: 429 LIM0012. Without Redis nobody is refused.
  func admitWrite(_ publisher: Publisher, bytes: Int) async throws(Problem) {
    let cost = RequestCost(Self.writes(in: bytes), perSecond: context.settings.gateway.limits.writesPerSecond)
    try await admit(publisher.id, "writes", cost, .publisherWrites)
  }

  /// How many writes a body counts as: one for each 256 KiB. Only parts of files are longer.
  nonisolated static func writes(in bytes: Int) -> Int { 1 + max(0, bytes - 1) / (256 << 10) }

  /// Counts a look-up of an order id. A publisher may take half of the calls that Apple allows for an app, so the other
  /// half stays for its people at the console, and for others with the same app.
  ///
  /// - Throws: ``Problem``: 429 LIM0011. Without Redis nobody is refused; then there is no call either.
  func admitOrder(_ publisher: Publisher) async throws(Problem) {
    let calls = OrderLookups.callsPerSecond(context.settings.appStore.budgetScale)
    let cost = RequestCost(1, perSecond: Int((calls / 2).rounded()))
    try await admit(publisher.id, "orders", cost, .orderShare)
  }

  private func admit(_ publisher: PublisherId, _ name: String, _ cost: RequestCost, _ limit: Limit)
    async throws(Problem)
  {
    let reader = Reader(publisherId: publisher, name: ExactText(name))
    let (time, now) = (cost.ownTime, ContinuousClock.now - begun)
    if own.wait(of: reader, for: time, now: now) <= .zero { return own.note(reader, time, now: now) }
    let wait: Duration?
    do {
      wait = try await rates.take(publisher, name, perSecond: cost.perSecond)
    } catch {
      context.log.debug("a request is not counted", ["cause": .failure(error)])
      return
    }
    guard let wait else { return }
    metrics.limited(limit, publisher)
    throw .limited(limit, wait)
  }
}
