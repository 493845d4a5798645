import Domain
import Formats
import HTTPServer
import Testing

@testable import Gateway

/// Registrations that the gateway accepts, and every refused input with its code.
struct RegistrationRequestTests {
  private static let good = #"{"cleengCustomerId":42,"transactionId":"100"}"#
  private typealias Fields = [(name: String, value: String)]

  private func read(
    _ body: String, type: String? = "application/json", correlation: String? = nil
  ) -> Result<RegistrationRequest, Problem> {
    read(bytes: Array(body.utf8), type: type, correlation: correlation)
  }

  private func read(
    bytes: [UInt8], type: String? = "application/json", correlation: String? = nil
  ) -> Result<RegistrationRequest, Problem> {
    var headers: Fields = []
    if let type { headers.append(("content-type", type)) }
    if let correlation { headers.append(("correlation-id", correlation)) }
    let request = HTTPServerRequest(method: "POST", path: ["purchases"], headers: headers, body: bytes)
    return Result { () throws(Problem) in try RegistrationRequest(request) }
  }

  private func refusal(_ result: Result<RegistrationRequest, Problem>) -> Problem? {
    if case .failure(let problem) = result { problem } else { nil }
  }

  // MARK: Accepted

  @Test func least() throws {
    let request = try read(Self.good).get()
    #expect(request.customerId == "42")
    #expect(request.transactionId == "100")
    #expect(request.ipAddress == nil)
    #expect(request.correlationId == nil)
  }

  @Test func everything() throws {
    let digits = String(repeating: "9", count: 32)
    let body =
      #"{"cleengCustomerId":9223372036854775807,"transactionId":"\#(digits)","ipAddress":"192.0.2.255","more":[{}]}"#
    let request = try read(body, correlation: "a|b!~").get()
    #expect(request.customerId == "9223372036854775807")
    #expect(request.transactionId.text == digits)
    #expect(request.ipAddress == "192.0.2.255")
    #expect(request.correlationId == "a|b!~")
  }

  @Test func nullAddressIsNoAddress() throws {
    #expect(try read(#"{"cleengCustomerId":1,"transactionId":"1","ipAddress":null}"#).get().ipAddress == nil)
  }

  @Test(arguments: [
    "application/json", "Application/JSON", "application/json; charset=utf-8", " application/json ;x=y",
  ])
  func contentTypes(type: String) throws {
    #expect(try read(Self.good, type: type).get().customerId == "42")
  }

  @Test func longestCorrelationId() throws {
    let id = String(repeating: "x", count: 256)
    #expect(try read(Self.good, correlation: id).get().correlationId?.text == id)
  }

  // MARK: Refused

  @Test(arguments: [
    nil, "", "text/plain", "application/json5", "application/problem+json", "json", "application/jsonx; a=b",
    "application/x-www-form-urlencoded", "*/*",
  ])
  func wrongContentType(type: String?) {
    #expect(refusal(read(Self.good, type: type)) == .unsupportedMediaType)
  }

  @Test(arguments: [";application/json", "application / json", "appli cation/json"]
  )
  func almostTheContentType(type: String) {
    #expect(refusal(read(Self.good, type: type)) == .unsupportedMediaType)
  }

  @Test(arguments: [nil, "application/json", "text/plain"]) func nothing(type: String?) {
    let problem = refusal(read("", type: type))
    #expect(problem?.status == 400 && problem?.code == "REQ0001")
    #expect(problem?.detail == "The body is missing; send JSON, with Content-Type: application/json.")
  }

  @Test func contentTypeComesBeforeTheBody() {
    #expect(refusal(read("no json", type: "text/plain"))?.status == 415)
  }

  @Test(arguments: [
    " ", "no json", "{", #"{"cleengCustomerId":42,"transactionId":"100""#, "{'a':1}", "{}{}",
    #"{"cleengCustomerId":42,"transactionId":"100"} x"#,
  ])
  func noJSON(body: String) {
    let problem = refusal(read(body))
    #expect(problem?.status == 400 && problem?.detail?.hasPrefix("not JSON at byte ") == true)
  }

  /// As deep as the longest body allows: the gateway answers, and its stack does not overflow.
  @Test(arguments: ["[", #"{"a":"#]) func nestedDeeply(opening: String) {
    let body = String(repeating: opening, count: 16384 / opening.utf8.count)
    #expect(refusal(read(body))?.code == "REQ0001")
    let member = #"{"cleengCustomerId":42,"transactionId":"100","more":"# + body
    #expect(refusal(read(member))?.code == "REQ0001")
  }

  @Test func notUTF8() {
    let broken = Array(#"{"cleengCustomerId":42,"transactionId":""#.utf8) + [0xFF, 0xFE] + Array("\"}".utf8)
    #expect(refusal(read(bytes: broken))?.code == "REQ0001")
    #expect(refusal(read(bytes: [0xFF, 0xFE, 0x00]))?.code == "REQ0001")
  }

  @Test(arguments: ["[]", "1", "\"text\"", "true", "null", #"[{"cleengCustomerId":42,"transactionId":"100"}]"#])
  func noObject(body: String) {
    let problem = refusal(read(body))
    #expect(problem == .invalidBody("expected a JSON object"))
  }

  @Test(arguments: [
    ("{}", "transactionId: is missing"), (#"{"transactionId":"1"}"#, noCustomer),
    (#"{"cleengCustomerId":null,"customerId":null,"transactionId":"1"}"#, noCustomer),
    (
      #"{"cleengCustomerId":1,"customerId":null,"transactionId":"1"}"#,
      "customerId: is null; leave it out, or name the customer"
    ),
    (#"{"cleengCustomerId":1}"#, "transactionId: is missing"),
    (#"{"CleengCustomerId":1,"CustomerId":"1","transactionId":"1"}"#, noCustomer),
    (#"{"cleengCustomerId":"1","transactionId":"1"}"#, "cleengCustomerId: expected a whole number"),
    (#"{"cleengCustomerId":true,"transactionId":"1"}"#, "cleengCustomerId: expected a whole number"),
    (#"{"cleengCustomerId":null,"transactionId":"1"}"#, noCustomer),
    (#"{"cleengCustomerId":{},"transactionId":"1"}"#, "cleengCustomerId: expected a whole number"),
    (#"{"customerId":1,"transactionId":"1"}"#, "customerId: expected a text"),
    (#"{"cleengCustomerId":1,"transactionId":1}"#, "transactionId: expected a text"),
    (#"{"cleengCustomerId":1,"transactionId":null}"#, "transactionId: expected a text"),
    (#"{"cleengCustomerId":1,"transactionId":["1"]}"#, "transactionId: expected a text"),
    (#"{"cleengCustomerId":1,"transactionId":"1","ipAddress":4}"#, "ipAddress: expected a text"),
    (#"{"cleengCustomerId":0,"transactionId":"1"}"#, "cleengCustomerId: expected a number from 1"),
    (#"{"cleengCustomerId":-1,"transactionId":"1"}"#, "cleengCustomerId: expected a number from 1"),
    (#"{"cleengCustomerId":-9223372036854775808,"transactionId":"1"}"#, "cleengCustomerId: expected a number from 1"),
  ])
  func wrongMembers(body: String, detail: String) {
    #expect(refusal(read(body)) == .invalidBody(detail))
  }

  private static let noCustomer =
    "cleengCustomerId: is missing; send cleengCustomerId, a whole number, or customerId, a text"

  // MARK: Customers by their texts

  @Test(arguments: ["42", "042", "-1", "a|b/c d", "é", "e\u{301}", "v2", String(repeating: "é", count: 128)])
  func `a text names a customer, byte for byte`(id: String) throws {
    let request = try read(#"{"customerId":"\#(id)","transactionId":"100"}"#).get()
    #expect(request.customerId == CustomerId(id))
  }

  @Test func `a number names the customer with the same decimal text`() throws {
    #expect(try read(Self.good).get() == read(#"{"customerId":"42","transactionId":"100"}"#).get())
  }

  @Test(arguments: ["", "a\\u0000b", "\\n", "\u{7F}", "\u{85}", "erased:42", String(repeating: "x", count: 257)])
  func `a text that can name no customer is refused`(id: String) {
    let problem = refusal(read(#"{"customerId":"\#(id)","transactionId":"1"}"#))
    let rule = "expected a text of 1 to 256 bytes without control characters, which does not begin with erased:"
    #expect(problem == .invalidBody("customerId: \(rule)"))
  }

  @Test(arguments: ["42", "43"]) func `a body names its customer once`(id: String) {
    let problem = refusal(read(#"{"cleengCustomerId":42,"customerId":"\#(id)","transactionId":"1"}"#))
    #expect(problem == .invalidBody("customerId: send either cleengCustomerId or customerId, not both"))
  }

  private static let numbersThatAreNoIds = ["1.5", "-0.5", "9223372036854775808", "1e30", "1e999"]

  @Test(arguments: numbersThatAreNoIds) func numberThatIsNoId(number: String) {
    let problem = refusal(read(#"{"cleengCustomerId":\#(number),"transactionId":"1"}"#))
    // The last one is not a number in JSON either, as the gateway reads it.
    let details = ["cleengCustomerId: expected a whole number", "not JSON at byte 20"]
    #expect(problem?.code == "REQ0001" && details.contains(problem?.detail ?? ""))
  }

  @Test(arguments: ["", "12a", "-1", "+1", "1.0", " 1", "1 ", "1\\n", "１", "1\\u0000", "0x1F"])
  func wrongTransactionId(text: String) {
    let problem = refusal(read(#"{"cleengCustomerId":1,"transactionId":"\#(text)"}"#))
    #expect(problem == .invalidBody("transactionId: expected 1 to 32 digits"))
  }

  @Test func thirtyThreeDigits() {
    let digits = String(repeating: "1", count: 33)
    let problem = refusal(read(#"{"cleengCustomerId":1,"transactionId":"\#(digits)"}"#))
    #expect(problem == .invalidBody("transactionId: expected 1 to 32 digits"))
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4 ", " 1.2.3.4", "::1", "localhost", "1.2.3.-4", "0x1.2.3.4",
    "1.2.3.4:80", "1.2.3.4/8",
  ])
  func wrongAddress(text: String) {
    let problem = refusal(read(#"{"cleengCustomerId":1,"transactionId":"1","ipAddress":"\#(text)"}"#))
    #expect(problem == .invalidBody("ipAddress: expected an IPv4 address"))
  }

  /// A NUL ends a text in C. It must not end the address in the job.
  @Test
  func addressWithSomethingBehindANul() {
    let problem = refusal(read(#"{"cleengCustomerId":1,"transactionId":"1","ipAddress":"1.2.3.4\u0000x"}"#))
    #expect(problem == .invalidBody("ipAddress: expected an IPv4 address"))
  }

  @Test(arguments: ["", " ", "a b", "a\tb", "a\u{7F}", "a\u{1}", "é", "a\r\nb", String(repeating: "x", count: 257)])
  func wrongCorrelationId(id: String) {
    let problem = refusal(read(Self.good, correlation: id))
    #expect(problem == .invalidHeaders("Correlation-Id: expected 1 to 256 visible ASCII characters"))
  }

  @Test func codes() {
    #expect(refusal(read("x"))?.code == "REQ0001")
    #expect(refusal(read("x"))?.status == 400)
    #expect(refusal(read(Self.good, correlation: ""))?.code == "REQ0004")
    #expect(refusal(read(Self.good, correlation: ""))?.status == 400)
    #expect(refusal(read(Self.good, type: nil))?.code == "REQ0415")
  }
}
