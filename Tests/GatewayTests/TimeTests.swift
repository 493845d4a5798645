import JSON
import Testing

@testable import Gateway

/// Times in request bodies.
struct TimeTests {
  private func time(_ value: String) -> Result<Int64?, Problem> {
    Result { () throws(Problem) in
      guard let body: JSONValue = try? JSONText(Array("{\"since\":\(value)}".utf8)).decoded() else {
        throw .invalidBody("no JSON")
      }
      return try BodyReader(body, knows: ["since"]).time("since")
    }
  }

  @Test(arguments: [
    (#""1970-01-01T00:00:00Z""#, 0), (#""2026-01-31T12:00:00Z""#, 1_769_860_800_000),
    (#""2026-01-31T12:00:00.123Z""#, 1_769_860_800_123), (#""2026-01-31T13:00:00+01:00""#, 1_769_860_800_000),
    (#""2026-01-31T06:30:00.5-05:30""#, 1_769_860_800_500), ("0", 0), ("1769860800123", 1_769_860_800_123),
    ("1769860800123.0", 1_769_860_800_123), (#""1969-12-31T23:59:59Z""#, 0),
  ])
  func read(text: String, expected: Int64) throws {
    #expect(try time(text).get() == expected)
  }

  @Test(arguments: [
    #""""#, #""yesterday""#, #""2026-01-31""#, #""2026-01-31T12:00:00""#, #""2026-13-31T12:00:00Z""#, "-1", "1.5",
    "null", "true", "[]", "253402300800000", #""1769860800123""#,
    #""2026-01-31T12:00:00Z and more, and more, and more""#,
  ])
  func refused(text: String) {
    let expected = "since: expected a time after RFC 3339, such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
    #expect(time(text) == .failure(.invalidBody(expected)))
  }

  @Test func leftOut() throws {
    #expect(try BodyReader(.object([:]), knows: ["since"]).time("since") == nil)
  }
}
