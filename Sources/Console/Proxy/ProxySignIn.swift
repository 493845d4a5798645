import Configuration
import EventLoop
import HTTPServer
import Observability
import Service

/// Tells who sends a request, if a proxy in front of the console signs people in.
///
/// There is no session: each request says who it is from. So nobody stays in whom the proxy has let go.
@LoopActor
final class ProxySignIn {
  private let settings: ProxySignInSettings
  private let people: PeopleFile
  private let log: Log
  private let requests: Counter
  private var told = ToldPeers()

  init(_ settings: ProxySignInSettings, _ people: PeopleFile, _ log: Log, _ metrics: ConsoleMetrics) {
    (self.settings, self.people, self.log) = (settings, people, log)
    requests = metrics.proxyRequests
  }

  /// Returns who sends a request.
  func person(of request: HTTPServerRequest) throws(ProxyIdentity.Refusal) -> ConsolePerson {
    do throws(ProxyIdentity.Refusal) {
      let person = try ProxyIdentity(request, settings).person(people.roles ?? OpenIDRoles(""))
      requests.count("signedIn")
      return person
    } catch {
      requests.count(error.label)
      if error == .unlisted, !request.values(of: settings.userHeader).isEmpty { tell(request.origin.peer) }
      throw error
    }
  }

  /// Logs an address that is not listed: the operator's own proxy may be missing in the list.
  private func tell(_ peer: String?) {
    guard let peer, told.mayTell(peer, at: .now) else { return }
    log.warning(
      "an unlisted sender names a person; if it is your proxy, list it in "
        + ProxySignInSettings.addressesKey, ["peer": .string(peer)])
  }

  /// What ``person(of:)`` counts.
  nonisolated static let labels = ["signedIn"] + ProxyIdentity.Refusal.labels
}
