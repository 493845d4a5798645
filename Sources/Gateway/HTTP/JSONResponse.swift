import FoundationEssentials
package import HTTPServer

/// Makes an answer whose body is JSON.
package func jsonResponse(_ status: Int, _ value: some Encodable, type: String = "application/json")
  -> HTTPServerResponse
{
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  // The encoder gets only strings, integers and Booleans here, so it cannot fail.
  let body = (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
  return jsonResponse(status, written: body, type: type)
}

/// Makes an answer whose body is written already.
package func jsonResponse(_ status: Int, written body: [UInt8], type: String = "application/json") -> HTTPServerResponse
{
  HTTPServerResponse(
    status: status, headers: [("Content-Type", type), ("Cache-Control", "no-store")], body: body)
}
