import HTTPServer

/// A request whose route is found and whose caller is known.
struct Call {
  let request: HTTPServerRequest
  let caller: Caller
  /// The values in the path.
  let values: [Route.Parameter: String]

  /// A value in the path; empty when the route's path does not have it.
  subscript(parameter: Route.Parameter) -> String { values[parameter] ?? "" }
}
