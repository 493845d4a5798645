import AppStore
import Domain
import EventLoop
import Observability

/// The standing of a place: the copy of this worker, which all its calls for the app share. A new reading of the
/// publishers' files makes new places, and with them a new standing: somebody may have mended the mistake.
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
    log.info("Apple takes the key again", fields)
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

  private var fields: KeyValuePairs<String, Log.Value> {
    [
      "app": .string(app.bundleId), "environment": .string(environment.rawValue), "cause": .string(standing.cause),
    ]
  }
}
