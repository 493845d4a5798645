import AppStore
import Coordination
import EventLoop

extension PurchaseVerification {
  /// The dependencies that all verifications of a worker share: Apple's API, the verifier of its answers, and the
  /// budget.
  ///
  /// An object: every verification in flight refers to it.
  @LoopActor
  final class Dependencies {
    let api: AppStoreServerAPI
    let verifier: SignedDataVerifier
    let budget: any FleetBudget
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    let metrics: WorkerMetrics

    init(
      api: AppStoreServerAPI, verifier: SignedDataVerifier, budget: any FleetBudget,
      now: @escaping @Sendable () -> Int64,
      metrics: WorkerMetrics
    ) {
      self.api = api
      self.verifier = verifier
      self.budget = budget
      self.now = now
      self.metrics = metrics
    }
  }
}

/// The calls that the whole fleet may make to Apple.
@LoopActor
protocol FleetBudget {
  /// Takes a call out of the place's first budget that has one left, or out of that of one endpoint.
  func takeCall(_ place: CallPlace, only endpoint: String?, _ urgency: CallUrgency) async throws -> CallAnswer
  /// Stops every worker's calls to an endpoint for a time.
  func pause(_ place: CallPlace, _ endpoint: String, for duration: Duration) async throws
}

extension CallBudgets: FleetBudget {}
