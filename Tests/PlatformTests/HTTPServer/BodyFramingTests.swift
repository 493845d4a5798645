import Testing

@testable import HTTPServer

/// Where a request's body ends, and the heads that leave it open.
struct BodyFramingTests {
  @Test func `a head without either field has no body`() {
    #expect(BodyFraming([("Host", "here"), ("X-Content-Length", "5")]) == .none)
  }

  @Test(arguments: [
    ("0", 0), ("5", 5), ("0005", 5), ("9223372036854775808", 9_223_372_036_854_775_808),
    ("18446744073709551615", UInt64.max), ("18446744073709551616", .max), (String(repeating: "9", count: 500), .max),
  ])
  func `a length of any size is a number`(text: String, length: UInt64) {
    let framing = BodyFraming([("content-LENGTH", text)])
    #expect(framing == .length(length))
    #expect(framing.refusal == nil)
    #expect(framing.isLonger(than: 5) == (length > 5))
  }

  @Test(arguments: ["", " ", "+5", "-5", "0x5", "5 ", "5,5", "٥", "5.0"])
  func `anything else is no length`(text: String) {
    let framing = BodyFraming([("Content-Length", text)])
    #expect(framing.refusal?.status == 400)
    #expect(!framing.isLonger(than: 0))
  }

  @Test func `two lengths are refused, equal ones too`() {
    #expect(BodyFraming([("Content-Length", "3"), ("Content-Length", "5")]).refusal?.status == 400)
    #expect(BodyFraming([("Content-Length", "3"), ("content-length", "3")]).refusal?.status == 400)
  }

  @Test func `chunked is the only coding`() {
    #expect(BodyFraming([("Transfer-Encoding", "chunked")]) == .chunked)
    #expect(BodyFraming([("transfer-encoding", "Chunked")]).refusal == nil)
    for codings in [["gzip"], ["gzip, chunked"], ["chunked, chunked"], ["chunked", "chunked"], [""], ["xchunked"]] {
      #expect(BodyFraming(codings.map { ("Transfer-Encoding", $0) }).refusal?.status == 501)
    }
  }

  @Test func `a length beside a coding is refused`() {
    let both = [("Content-Length", "3"), ("Transfer-Encoding", "chunked")]
    #expect(BodyFraming(both).refusal?.status == 400)
    #expect(BodyFraming(both.reversed()).refusal?.status == 400)
  }
}
