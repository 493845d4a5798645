package import Domain
import Formats
package import HTTPServer

/// How fast each credential sends receipts to this gateway's doors (`doors.DOOR.maxRequestsPerSecond`).
///
/// Each request may become a job and a call to Apple, and anybody can take an app's key out of the app. The gateway
/// counts by itself: a question to Redis before each body would cost more than it saves.
package struct DoorPace {
  /// Who sends.
  package struct Credential: Hashable {
    let publisherId: PublisherId
    let door: Door
    /// The customer, the app or the kind of key; empty for the publisher's token.
    let holder: ExactText
    /// Who can have it.
    let kind: HTTPServer.LargeBody.Credential

    /// Creates a credential.
    package init(
      _ publisher: Publisher, _ door: Door, _ holder: String, _ kind: HTTPServer.LargeBody.Credential
    ) {
      (publisherId, self.door, self.holder, self.kind) = (publisher.id, door, ExactText(holder), kind)
    }
  }

  private static let second = Duration.seconds(1)

  /// Only publishers give credentials out, so no stranger fills the memory. While it is full, further credentials have
  /// no pace.
  private var pace = KeyedPace<Credential>(burst: Self.second, sharesTheRest: false)
  /// How many credentials the gateway remembers.
  var count: Int { pace.count }

  /// Whether a request may go on. A credential may send the requests of a second at once.
  ///
  /// - Parameter now: the time of a clock that is never set back.
  mutating func admits(_ credential: Credential, perSecond: Int, now: Duration) -> Bool {
    let time = Self.second / max(1, perSecond)
    guard pace.wait(of: credential, for: time, now: now) <= .zero else { return false }
    pace.note(credential, time, now: now)
    return true
  }
}

/// Whether a request's head may go on to its body.
package enum DoorAdmission {
  case refused(HTTPServerResponse)
  /// - Parameter tooFast: the answer, in the door's own form, to a credential that sends too fast.
  case admitted(DoorPace.Credential, perSecond: Int?, tooFast: HTTPServerResponse)

  /// The answer that ends the request here; `nil` if it may go on.
  func refusal(_ pace: inout DoorPace, now: Duration) -> HTTPServerResponse? {
    switch self {
    case .refused(let response): return response
    case .admitted(let credential, let perSecond?, let tooFast):
      return pace.admits(credential, perSecond: perSecond, now: now) ? nil : tooFast
    case .admitted(_, nil, _): return nil
    }
  }

  /// Whose credential the head has; `nil` for a refused one.
  var sender: HTTPServer.LargeBody.Sender? {
    guard case .admitted(let credential, _, _) = self else { return nil }
    return .init(publisher: String(credential.publisherId), credential: credential.kind)
  }
}
