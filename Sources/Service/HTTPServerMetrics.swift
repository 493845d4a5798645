public import EventLoop
public import HTTPServer
public import Observability

/// The metrics of a role's HTTP server: who has its places and its room, and whom it has cut or refused.
@LoopActor
public final class HTTPServerMetrics {
  /// The server, once it listens.
  public weak var server: HTTPServer?

  private let cuts: Counter
  private let refused: Counter

  /// Creates the metrics.
  public init(_ metrics: Metrics) {
    cuts = metrics.counter(
      "countersign_http_connections_cut_total", "Connections that the server closed or did not accept.",
      labels: ["cause"], known: HTTPServer.CutCause.allCases.map { [$0.rawValue] })
    refused = metrics.counter(
      "countersign_http_bodies_refused_total", "Bodies that the server refused, or did not send.", labels: ["cause"],
      known: HTTPServer.BodyRefusalCause.allCases.map { [$0.rawValue] })
    metrics.gauge("countersign_http_connections", "Open connections.") { [weak self] in
      Double(self?.server?.openConnections ?? 0)
    }
    metrics.gauge("countersign_http_body_bytes", "Memory that bodies with receipts hold.") { [weak self] in
      Double(self?.server?.heldBytes(in: .callers) ?? 0)
    }
    metrics.gauge(
      "countersign_http_anonymous_body_bytes", "Memory that Apple's notifications hold."
    ) { [weak self] in
      Double(self?.server?.heldBytes(in: .anybody) ?? 0)
    }
    metrics.gauge(
      "countersign_http_unread_answer_bytes", "Memory of large answers that their clients have not finished reading."
    ) { [weak self] in
      Double(self?.server?.unreadAnswerBytes ?? 0)
    }
  }

  /// Lets a server that is about to start report here.
  public func observe(_ configuration: inout HTTPServer.Configuration) {
    configuration.onCut = { [cuts] in cuts.count($0.rawValue) }
    configuration.onBodyRefused = { [refused] in refused.count($0.rawValue) }
  }
}
