public import EventLoop
public import HTTPServer
public import Observability

/// Tells that requests come through a proxy that the role's setting does not list.
///
/// All clients of such a proxy are one address here, with one share of places, one of room and one pace: one stranger
/// among them takes what the others need. Any client can send the field, so the log has one line a minute for each
/// peer, and no more than 32 lines.
@LoopActor
public final class UnlistedProxies {
  private let log: Log
  private let setting: String
  private let seen: Counter
  private var told = ToldPeers()

  /// - Parameter setting: that lists proxies, such as `gateway.trustedProxies`.
  public init(_ metrics: Metrics, _ log: Log, setting: String) {
    (self.log, self.setting) = (log, setting)
    seen = metrics.counter(
      "countersign_unlisted_proxy_requests_total",
      "Requests through a proxy that the role's trustedProxies does not list.")
  }

  /// Counts a request that comes through one, be it answered or refused by its head.
  public func look(at request: HTTPServerRequest) {
    guard let peer = Self.peer(of: request) else { return }
    seen.count()
    guard told.mayTell(peer, at: .now) else { return }
    log.warning(
      "a request came through an unlisted proxy, so all its clients share one address; list it in \(setting)",
      ["peer": .string(peer)])
  }

  /// The socket's peer, if it speaks for others and is no listed proxy: a proxy that somebody forgot to list, or a
  /// client that wants to be taken for one.
  nonisolated static func peer(of request: HTTPServerRequest) -> String? {
    guard !request.origin.isProxied, (request.header("X-Forwarded-For") ?? request.header("Forwarded")) != nil else {
      return nil
    }
    return request.origin.peer
  }
}
