public import AppStore
import Coordination
public import Domain
public import EventLoop

/// Asks Apple which transactions an order has, for a person who has only the id in Apple's receipt.
///
/// It tells what Apple says, and changes nothing: it grants no access, and registers no purchase. Each call comes out
/// of the fleet's budget for the app, which the look-ups of all roles share.
@LoopActor
public final class OrderLookups {
  /// Makes the call.
  typealias Ask =
    @LoopActor (OrderId, AppCredentials) async throws(AppStoreAPIError) -> AppStoreAnswer<OrderLookupResponse>

  private let calls: AwaitedCalls
  private let verifier: SignedDataVerifier
  private let ask: Ask

  private static let endpoint = AppStoreEndpoint.orderLookup
  /// How many calls a second all roles together may make for an app.
  ///
  /// - Parameter scale: the fleet's budget, as a factor of Apple's limit.
  public static func callsPerSecond(_ scale: Double) -> Double { endpoint.callsPerSecond(in: .production) * scale }

  init(_ calls: AwaitedCalls, _ verifier: SignedDataVerifier, ask: @escaping Ask) {
    (self.calls, self.verifier, self.ask) = (calls, verifier, ask)
  }

  /// Creates it over Apple's API and the calls of the role.
  public convenience init(_ api: AppStoreServerAPI, _ calls: AwaitedCalls, _ verifier: SignedDataVerifier) {
    self.init(calls, verifier) { id, app throws(AppStoreAPIError) in try await api.lookUpOrder(id, for: app) }
  }

  /// The apps of a publisher that may have orders: Apple looks them up in production only.
  public nonisolated static func apps(of publisher: Publisher) -> [Publisher.App] {
    publisher.apps.filter { $0.environments.contains(.production) }
  }

  /// Asks about an order in the publisher's apps, one after the other, until one has it or Apple does not answer.
  ///
  /// - Throws: `RedisError` if the budget cannot be asked.
  public func find(_ orderId: OrderId, of publisher: Publisher) async throws -> OrderReply {
    var replies: [OrderReply] = []
    for app in Self.apps(of: publisher) {
      let reply = try await find(orderId, in: app)
      replies.append(reply)
      if case .found = reply { break }
      // All apps have one Apple. The next one would hold the caller, and its connection, as long again.
      if case .failed(.away) = reply { break }
    }
    return .joined(replies)
  }

  private func find(_ orderId: OrderId, in app: Publisher.App) async throws -> OrderReply {
    let reply = try await calls.make(
      Self.endpoint, for: app, in: .production, .awaited,
      call: { [ask] key throws(AppStoreAPIError) in try await ask(orderId, key) },
      meaning: { OrderReply.obstacle($0.kind, for: app, now: $1) })
    switch reply {
    case .answered(let answer): return judge(answer, for: app)
    case .unknown: return .unknown
    case .failed(let obstacle): return .failed(obstacle)
    }
  }

  private func judge(_ answer: AppStoreAnswer<OrderLookupResponse>, for app: Publisher.App) -> OrderReply {
    do throws(AnswerDefect) {
      return try OrderAnswer.reply(answer.body, for: app, verifier)
    } catch {
      return .failed(calls.refused(answer, Self.endpoint, for: app, because: error))
    }
  }
}
