package import HTTPServer
package import JSON

/// Refuses a missing body, and a body that the client does not declare as JSON.
package func requireJSON(_ request: HTTPServerRequest) throws(Problem) {
  guard !request.body.isEmpty else {
    throw .invalidBody("The body is missing; send JSON, with Content-Type: application/json.")
  }
  let type = request.header("Content-Type")
  if type == "application/json" { return }  // nearly every client sends exactly this
  let parts = type?.split(separator: ";", omittingEmptySubsequences: false) ?? []
  let essence = (parts.first ?? "").drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
  guard String(essence).lowercased() == "application/json" else { throw .unsupportedMediaType }
}

/// Reads a JSON body.
///
/// - Throws: ``Problem``: 400 REQ0001.
package func readJSON<Value>(
  of request: HTTPServerRequest, limits: JSONLimits = .outside, _ take: (JSONText) throws -> Value
) throws(Problem) -> Value {
  do {
    return try take(JSONText(request.body, limits: limits))
  } catch DecodingError.keyNotFound(let key, _) {
    throw .invalidBody("\(key.stringValue): is missing")
  } catch DecodingError.typeMismatch(let type, let context), DecodingError.valueNotFound(let type, let context) {
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    throw .invalidBody(path.isEmpty ? "expected a JSON object" : "\(path): expected \(jsonName(of: type))")
  } catch let error as TextTooLong {
    throw .invalidBody("\(error.path): expected \(error.limit)")
  } catch let error as JSONSyntaxError {
    throw .invalidBody("\(error)")
  } catch {
    throw .invalidBody("expected a JSON object")
  }
}

/// Reads a body that is any kind of JSON.
///
/// - Throws: ``Problem``: 415, or 400 REQ0001, also for a missing body.
func jsonBody(_ request: HTTPServerRequest, limits: JSONLimits = .outside) throws(Problem) -> JSONValue {
  try requireJSON(request)
  return try readJSON(of: request, limits: limits) { try $0.decoded() }
}

/// Reads a body that may be missing. A missing body means `{}`.
func optionalJSONBody(_ request: HTTPServerRequest) throws(Problem) -> JSONValue {
  request.body.isEmpty ? .object([:]) : try jsonBody(request)
}

/// The JSON name of a type.
private func jsonName(of type: Any.Type) -> String {
  switch type {
  case is String.Type: "a text"
  case is any BinaryInteger.Type: "a whole number"
  case is any BinaryFloatingPoint.Type: "a number"
  case is Bool.Type: "true or false"
  default: "an object"
  }
}
