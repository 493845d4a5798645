import Configuration
import Formats
import HTTPServer

/// Whether a page of the console itself posts a form, and not another site with the browser of a person.
enum SameOrigin {
  /// Decides about a POST.
  ///
  /// A browser sends `Sec-Fetch-Site` over TLS and to this machine, and `Origin` always. What it sends must fit, and it
  /// must send one of them.
  ///
  /// - Parameter own: the origin of the public URL; `nil` if browsers reach the listener by any name.
  static func admits(_ request: HTTPServerRequest, own: String?) -> Bool {
    let (site, origin) = (request.header("Sec-Fetch-Site"), request.header("Origin"))
    if let site, site != "same-origin" { return false }
    guard let origin else { return site != nil }
    if let own { return origin.isExactly(own) }
    guard let host = request.header("Host"), !host.isEmpty else { return false }
    return ["http://" + host, "https://" + host].containsExactly(origin)
  }
}
