import AppStore
import Coordination
import Domain
import EventLoop
import Formats
import Observability

/// The standing of a place: the copy of this worker, which all its calls for the app share. A change of the
/// publisher's files makes new places, and with them a new standing: somebody may have mended the mistake.
@LoopActor
final class PlaceStanding {
  var value = AppStanding()
  /// What Apple said last.
  var cause = ""

  nonisolated init() {}
}

@LoopActor
extension AppPlace {
  /// Asks whether a call may be made; see ``AppStanding/admit(at:)``.
  func admit(at now: Int64) -> Duration? { standing.value.admit(at: now) }

  /// Notes that Apple has taken the app's key.
  func accepted(at now: Int64, _ log: Log) {
    guard standing.value.accept(at: now) else { return }
    standing.cause = ""
    log.info("Apple accepts the key again", fields)
  }

  /// Notes that Apple has refused the app's key. The first refusal is told at once.
  ///
  /// - Returns: how long a job waits now.
  @discardableResult
  func refused(by error: AppStoreAPIError, at now: Int64, _ log: Log) -> Duration {
    standing.cause = "\(error)"
    if standing.value.refuse(at: now) {
      log.error("Apple refused the key", fields)
    } else {
      log.debug("Apple still refuses the key", fields)
    }
    return standing.value.wait(at: now)
  }

  /// The places that a run may ask now, in the same order. A run takes no budget for the others: another publisher may
  /// have a key for the same app.
  ///
  /// The sandbox of an app whose key is refused in production would hide the mistake, and is not asked either.
  static func askable(_ places: [AppPlace], at now: Int64) -> [AppPlace] {
    var refused: Set<BundleId> = []
    return places.filter { place in
      guard place.standing.value.allowsCall(at: now) else {
        if place.environment == .production { refused.insert(place.app.bundleId) }
        return false
      }
      return !refused.contains(place.app.bundleId)
    }
  }

  /// Finds out whether Apple takes the key, by a call that names no transaction: the notifications of one second.
  func askWithoutId(_ verification: PurchaseVerification.Dependencies, _ log: Log) async -> CallFailure {
    let endpoint = AppStoreEndpoint.notificationHistory
    guard case .granted? = try? await verification.budget.takeCall(history, only: endpoint.rawValue, .awaited) else {
      return .failed(.budget)
    }
    let (start, now) = (ContinuousClock.now, verification.now())
    func observe(_ result: String) {
      verification.metrics.appleCalls.observe(
        (ContinuousClock.now - start).inSeconds, endpoint.rawValue, environment.text, result)
    }
    do throws(AppStoreAPIError) {
      _ = try await verification.api.notificationHistory(
        NotificationHistoryRequest(startDate: now - 2000, endDate: now - 1000), in: environment, for: credentials)
      observe("ok")
      accepted(at: verification.now(), log)
      return .resolving(nil)
    } catch {
      observe(error.label)
      log.info("Apple call failed", ["endpoint": .string(endpoint.rawValue), "cause": .failure(error)])
      return .resolving(error.kind)
    }
  }

  private var fields: KeyValuePairs<String, Log.Value> {
    [
      "app": .string(app.bundleId.text), "environment": .string(environment.text), "cause": .string(standing.cause),
    ]
  }
}
