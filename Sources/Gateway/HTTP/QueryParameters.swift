import Formats
import HTTPServer

/// Reads a whole number of the query, written in the one usual way: `7`, and neither `07` nor `+7`.
///
/// - Returns: `nil` when the parameter is not there.
/// - Throws: ``Problem``: 400 REQ0002.
func queryNumber(
  _ name: String, _ range: ClosedRange<Int64>, of request: HTTPServerRequest
) throws(Problem) -> Int64? {
  guard let text = request.query(name) else { return nil }
  guard text.isASCIIDigits(1...19), let number = Int64(text), String(number) == text, range.contains(number) else {
    throw .invalidQuery("\(name): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
  }
  return number
}

/// Refuses unknown and repeated parameters of the query.
///
/// - Throws: ``Problem``: 400 REQ0002.
func requireOnly(_ known: [String], _ request: HTTPServerRequest) throws(Problem) {
  var seen: Set<String> = []
  for (name, _) in request.query {
    guard known.contains(name) else {
      throw .invalidQuery("\(name.prefix(100)): is not known; expected \(known.joined(separator: ", "))")
    }
    guard seen.insert(name).inserted else { throw .invalidQuery("\(name): is there twice") }
  }
}
