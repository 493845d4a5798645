import Formats
import HTTPServer

/// Answers for clients in a browser or a WebView (Fetch Standard, section 3.3): the plugins and the SDKs of some
/// vendors send a preflight before each request.
///
/// Any origin may read the answer. A door knows no cookies: whoever has no credential gets nothing from elsewhere that
/// they would not get here.
enum CrossOrigin {
  /// The answer to a preflight of a door's path; `nil` for any other request.
  ///
  /// - Parameter routes: those of the doors.
  static func preflight(_ request: HTTPServerRequest, _ routes: [Route]) -> HTTPServerResponse? {
    guard request.method == "OPTIONS", let wanted = request.header("Access-Control-Request-Method") else { return nil }
    let methods = routes.filter { $0.values(in: request.path) != nil }.map(\.method.rawValue)
    guard methods.containsExactly(wanted) else { return nil }
    var headers = [("Access-Control-Allow-Methods", methods.joined(separator: ", "))]
    if let names = request.header("Access-Control-Request-Headers"), names.utf8.count <= longestNames {
      headers.append(("Access-Control-Allow-Headers", names))
    }
    headers.append(("Access-Control-Max-Age", "86400"))
    return admitted(HTTPServerResponse(status: 204, headers: headers))
  }

  /// The same answer, for any origin to read.
  static func admitted(_ response: HTTPServerResponse) -> HTTPServerResponse {
    var response = response
    response.headers.append(("Access-Control-Allow-Origin", "*"))
    return response
  }

  /// More names than any client sends.
  private static let longestNames = 1000
}
