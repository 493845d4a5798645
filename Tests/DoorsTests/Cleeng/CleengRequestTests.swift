import Domain
import Formats
import HTTPServer
import JSON
import Testing

@testable import Doors
@testable import Gateway

/// The requests of Cleeng's door.
struct CleengRequestTests {
  private func request(_ body: String, type: String? = "application/json") -> HTTPServerRequest {
    HTTPServerRequest(
      method: "POST", path: ["apple", "payment"], headers: type.map { [("Content-Type", $0)] } ?? [],
      body: Array(body.utf8))
  }

  private func read(_ body: String, isByCustomer: Bool = false) throws(Problem) -> CleengRequest {
    try CleengRequest(request(body), isByCustomer: isByCustomer)
  }

  private static let whole = """
    {"customerEmail": "A@example.com", "offerId": "S598742062_US",
     "receipt": {"transactionId": "1234565432", "receiptData": "MIIT", "later": 1}, "appType": "tvos",
     "ipAddress": "192.168.1.1", "couponCode": "coupon", "unknown": {"member": []}}
    """

  @Test func `a whole request`() throws {
    let read = try read(Self.whole, isByCustomer: true)
    #expect(read.customerEmail == "A@example.com")
    #expect(read.offerId == "S598742062_US")
    #expect(read.transactionId == "1234565432" && read.receiptData == "MIIT")
    #expect(read.ipAddress == "192.168.1.1" && read.couponCode == "coupon")
  }

  @Test func `what a publisher's client may leave out`() throws {
    let short = #"{"customerEmail":"a@b","offerId":"S1","receipt":{"receiptData":"MIIT"}}"#
    let read = try read(short)
    #expect(read.transactionId == nil && read.ipAddress == nil && read.couponCode == nil)
    let nulls = #"""
      {"customerEmail":"a@b","offerId":"S1","receipt":{"receiptData":"MIIT","transactionId":null},"appType":null,
       "ipAddress":null,"couponCode":null}
      """#
    #expect(try self.read(nulls) == read)
    // A customer's token needs the device.
    #expect(throws: Problem.invalidBody("appType: is missing; a customer's token needs it")) {
      try self.read(short, isByCustomer: true)
    }
  }

  @Test(arguments: [
    ("customerEmail", #""nobody""#), ("customerEmail", #""a@b@c""#), ("customerEmail", #""@b""#),
    ("customerEmail", "1"), ("customerEmail", "null"),
    ("customerEmail", "\"\(String(repeating: "a", count: 254))@b\""), ("offerId", #""""#), ("offerId", "17"),
    ("offerId", "\"\(String(repeating: "S", count: 257))\""), ("receipt", #""MIIT""#),
    ("receipt", "{}"), ("receipt", #"{"receiptData":""}"#), ("receipt", #"{"receiptData":{}}"#),
    ("receipt", #"{"receiptData":"MIIT","transactionId":1}"#),
    ("receipt", #"{"receiptData":"MIIT","transactionId":"1 or 1"}"#), ("appType", #""android""#),
    ("appType", #""iOS""#), ("appType", "true"), ("ipAddress", #""here""#), ("ipAddress", #""1.2.3.4\u0000""#),
    ("ipAddress", "1"), ("couponCode", "1"),
  ])
  func `a member of another form is refused`(name: String, value: String) throws {
    var members = [
      "customerEmail": #""a@b""#, "offerId": #""S1""#, "receipt": #"{"receiptData":"MIIT"}"#, "appType": #""ios""#,
    ]
    members[name] = value
    let body = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    let problem = try #require(throws: Problem.self) { try self.read(body) }
    #expect(problem.status == 400 && problem.code == "REQ0001")
    #expect(problem.detail?.contains(name == "receipt" ? "receipt" : name) == true, "\(problem.detail ?? "")")
  }

  @Test(arguments: ["customerEmail", "offerId", "receipt"])
  func `a missing member is refused`(name: String) throws {
    var members = ["customerEmail": #""a@b""#, "offerId": #""S1""#, "receipt": #"{"receiptData":"MIIT"}"#]
    members[name] = nil
    let body = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    #expect(throws: Problem.invalidBody("\(name): is missing")) { try self.read(body) }
  }

  @Test func `a text that is not JSON`() {
    #expect(throws: Problem.unsupportedMediaType) {
      try CleengRequest(self.request(Self.whole, type: "text/plain"), isByCustomer: false)
    }
    for body in ["", "{", "[]", "17", "null"] {
      let problem = #expect(throws: Problem.self) { try self.read(body) }
      #expect(problem?.code == "REQ0001", "\(body)")
    }
  }

  @Test func `addresses of both kinds`() throws {
    for address in ["203.0.113.7", "2001:db8::7"] {
      let body = #"{"customerEmail":"a@b","offerId":"S1","receipt":{"receiptData":"M"},"ipAddress":"\#(address)"}"#
      #expect(try read(body).ipAddress == address)
    }
  }
}
