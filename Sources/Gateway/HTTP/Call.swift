import HTTPServer

/// A request with a known route and a known caller.
struct Call {
  let request: HTTPServerRequest
  let caller: Caller
  /// The values in the path.
  let values: [Route.Parameter: String]

  /// A value in the path. It is empty if the route's path does not have it.
  subscript(parameter: Route.Parameter) -> String { values[parameter] ?? "" }
}
