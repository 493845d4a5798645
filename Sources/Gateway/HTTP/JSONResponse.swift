import FoundationEssentials
package import HTTPServer

/// Makes an answer whose body is JSON.
package func jsonResponse(_ status: Int, _ value: some Encodable, type: String = "application/json")
  -> HTTPServerResponse
{
  jsonResponse(status, written: jsonText(value), type: type)
}

/// Returns a value as JSON.
func jsonText(_ value: some Encodable) -> [UInt8] {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  // The encoder gets only strings, integers and Booleans here, so it cannot fail.
  return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
}

/// Makes an answer whose body is written already.
package func jsonResponse(_ status: Int, written body: [UInt8], type: String = "application/json") -> HTTPServerResponse
{
  HTTPServerResponse(
    status: status, headers: [("Content-Type", type), ("Cache-Control", "no-store")], body: body)
}
