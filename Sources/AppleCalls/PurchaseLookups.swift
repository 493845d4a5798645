public import AppStore
import Coordination
public import Domain
public import EventLoop

/// Asks Apple what it says about a purchase of the ledger, for a person who wants to see it before it is applied.
///
/// It changes nothing. The calls are those of a worker's look: Get All Subscription Statuses for a subscription, and
/// Get Transaction Info for all else, and for a subscription that the statuses do not name. They come out of the
/// budgets of the workers.
@LoopActor
public final class PurchaseLookups {
  /// The budget is that of the jobs, for which customers wait. A person who asks again and again must not hold them up.
  private static let urgency = CallUrgency.later

  /// The calls to Apple.
  struct Asking {
    let statuses:
      @LoopActor (TransactionId, Environment, AppCredentials) async throws(AppStoreAPIError) -> AppStoreAnswer<
        SubscriptionStatusesResponse
      >
    let transaction:
      @LoopActor (TransactionId, Environment, AppCredentials) async throws(AppStoreAPIError) -> AppStoreAnswer<
        TransactionInfoResponse
      >
  }

  private let calls: AwaitedCalls
  private let verifier: SignedDataVerifier
  private let asking: Asking

  init(_ calls: AwaitedCalls, _ verifier: SignedDataVerifier, _ asking: Asking) {
    (self.calls, self.verifier, self.asking) = (calls, verifier, asking)
  }

  /// Creates it over Apple's API and the calls of the role.
  public convenience init(_ api: AppStoreServerAPI, _ calls: AwaitedCalls, _ verifier: SignedDataVerifier) {
    self.init(
      calls, verifier,
      Asking(
        statuses: { id, environment, app throws(AppStoreAPIError) in
          try await api.subscriptionStatuses(id, in: environment, for: app)
        },
        transaction: { id, environment, app throws(AppStoreAPIError) in
          try await api.transactionInfo(id, in: environment, for: app)
        }))
  }

  /// The app of a publisher that can ask about a purchase; `nil` if there is none: the publisher's file does not list
  /// the app in the environment, or Apple has no server for it.
  public nonisolated static func app(for purchase: Purchase, of publisher: Publisher) -> Publisher.App? {
    let environment = purchase.key.environment
    guard [.production, .sandbox].contains(environment) else { return nil }
    return publisher.apps.first {
      $0.bundleId == purchase.deciding.bundleId && $0.environments.contains(environment)
    }
  }

  /// Asks about a purchase.
  ///
  /// - Parameter app: the purchase's; see ``app(for:of:)``.
  /// - Throws: `RedisError` if the budget cannot be asked.
  public func ask(about purchase: Purchase, with app: Publisher.App) async throws -> PurchaseReply {
    let answer = PurchaseAnswer(
      purchase: purchase.key, transactionId: purchase.deciding.transactionId, app: app, verifier: verifier)
    guard purchase.deciding.kind == .autoRenewable else { return try await transaction(answer, after: .notAsked) }
    return try await statuses(answer)
  }

  private func statuses(_ question: PurchaseAnswer) async throws -> PurchaseReply {
    let (id, environment, app) = (question.transactionId, question.purchase.environment, question.app)
    let reply = try await calls.make(
      .subscriptionStatuses, for: app, in: environment, Self.urgency,
      call: { [asking] key throws(AppStoreAPIError) in try await asking.statuses(id, environment, key) },
      meaning: { PurchaseReply.obstacle($0.kind, for: app.bundleId, now: $1) })
    switch reply {
    case .failed(let obstacle): return .failed(obstacle)
    case .unknown: return try await transaction(question, after: .unknown)
    case .answered(let answer):
      do throws(AnswerDefect) {
        if let evidence = try question.evidence(answer.body) { return .told(evidence) }
      } catch {
        return .failed(calls.refused(answer, .subscriptionStatuses, for: app, because: error))
      }
      return try await transaction(question, after: .withoutPurchase)
    }
  }

  private func transaction(
    _ question: PurchaseAnswer, after statuses: PurchaseAnswer.Statuses
  ) async throws -> PurchaseReply {
    let (id, environment, app) = (question.transactionId, question.purchase.environment, question.app)
    let reply = try await calls.make(
      .transactionInfo, for: app, in: environment, Self.urgency,
      call: { [asking] key throws(AppStoreAPIError) in try await asking.transaction(id, environment, key) },
      meaning: { PurchaseReply.obstacle($0.kind, for: app.bundleId, now: $1) })
    switch reply {
    case .failed(let obstacle): return .failed(obstacle)
    case .unknown: return .unknown
    case .answered(let answer):
      do throws(AnswerDefect) {
        return .told(try question.evidence(answer.body, after: statuses, now: calls.now))
      } catch {
        return .failed(calls.refused(answer, .transactionInfo, for: app, because: error))
      }
    }
  }
}
