import EventLoop
import Observability

/// The metrics of the console.
@LoopActor
struct ConsoleMetrics {
  let requests: Counter
  let signIns: Counter
  let openIDSignIns: Counter
  let proxyRequests: Counter

  init(_ metrics: Metrics) {
    requests = metrics.counter(
      "countersign_console_requests_total", "Requests to the console, by page and status.", labels: ["page", "status"])
    signIns = metrics.counter(
      "countersign_console_sign_ins_total", "Attempts to sign in to the console, by result.", labels: ["result"],
      known: SignIn.Answer.labels.map { [$0] })
    openIDSignIns = metrics.counter(
      "countersign_console_openid_sign_ins_total",
      "Attempts to sign in to the console with the provider of OpenID Connect, by result.", labels: ["result"],
      known: OpenIDSignIn.Answer.labels.map { [$0] })
    proxyRequests = metrics.counter(
      "countersign_console_proxy_requests_total",
      "Requests to a console before which a proxy signs people in, by result.", labels: ["result"],
      known: ProxySignIn.labels.map { [$0] })
  }
}
