import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Observability
import Service

/// How many reads a second each credential may send to all gateways (`gateway.limits`).
///
/// Most credentials send few: up to a tenth of its rate, a gateway counts by itself, and asks Redis nothing. So a
/// credential may send a tenth more for each gateway.
@LoopActor
final class ReadLimit {
  private struct Reader: Hashable {
    let publisherId: Int64
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

  /// Counts a read.
  ///
  /// - Throws: ``Problem``: 429 LIM0005 or LIM0006. Without Redis nobody is refused.
  func admit(_ caller: Caller) async throws(Problem) {
    let limits = context.settings.gateway.limits
    let (name, perSecond, limit) =
      switch caller.customerId {
      case let customer?: ("customer:\(customer.text)", limits.customerReadsPerSecond, Limit.customerReads)
      case nil: ("token:\(caller.token?.name ?? "")", limits.readsPerSecond, Limit.publisherReads)
      }
    let reader = Reader(publisherId: caller.publisher.id, name: name.exact)
    let (time, now) = (Duration.seconds(10) / max(1, perSecond), ContinuousClock.now - begun)
    if own.wait(of: reader, for: time, now: now) <= .zero { return own.note(reader, time, now: now) }
    let wait: Duration?
    do {
      wait = try await rates.take(caller.publisher.id, name, perSecond: perSecond)
    } catch {
      context.log.debug("a read is not counted", ["cause": .failure(error)])
      return
    }
    guard let wait else { return }
    metrics.limited(limit, caller.publisher.id)
    throw .limited(limit, wait)
  }
}
