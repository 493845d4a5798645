import Domain
import Formats
import HTTPServer
import Ledger
import Testing

@testable import Gateway

/// Customers in paths and bodies.
struct CustomerRequestTests {
  private func customer(_ id: String, _ body: String, type: String = "application/json") -> Result<Customer, Problem> {
    let request = HTTPServerRequest(
      method: "PUT", path: [], headers: [("Content-Type", type)], body: Array(body.utf8))
    return Result { () throws(Problem) in try requestedCustomer(id, request) }
  }

  private func code(_ result: Result<Customer, Problem>) -> String? {
    if case .failure(let problem) = result { problem.code } else { nil }
  }

  @Test func taken() throws {
    #expect(try customer("5", "").get() == Customer(id: "5"))
    #expect(try customer("5", "", type: "text/plain").get() == Customer(id: "5"))
    #expect(try customer("5", "{}").get() == Customer(id: "5"))
    #expect(try customer("5", #"{"email":"a@b"}"#).get() == Customer(id: "5", email: "a@b"))
    #expect(try customer("5", #"{"email":null}"#).get() == Customer(id: "5"))
    let long = String(repeating: "ü", count: 252) + "@b"
    #expect(try customer("5", #"{"email":"\#(long)"}"#).get() == Customer(id: "5", email: long))
    #expect(code(customer("5", #"{"email":"ü\#(long)"}"#)) == "REQ0001")
    #expect(try customer("9223372036854775807", "").get() == Customer(id: "9223372036854775807"))
  }

  @Test(arguments: ["0", "05", "a/b", "é", "5 ", String(repeating: "x", count: 256)])
  func `the id is a text`(id: String) throws {
    #expect(try customer(id, "").get().id == CustomerId(id))
  }

  @Test(arguments: ["", "a\u{0}b", "a\n", String(repeating: "x", count: 257)]) func wrongId(id: String) {
    #expect(code(customer(id, "")) == "REQ0003")
  }

  @Test(arguments: ["", "a", "@b", "a@", "a@b@c", "a\\u0000@b", "a@" + String(repeating: "b", count: 253)])
  func wrongEmail(
    email: String
  ) {
    #expect(code(customer("5", #"{"email":"\#(email)"}"#)) == "REQ0001")
  }

  @Test func `a token is a UUID, in lower case from then on`() throws {
    let token = "7E3FB204-2a0f-4d66-9e9a-6a2f3f3f1a10"
    let taken = try customer("5", #"{"appAccountToken":"\#(token)","email":"a@b"}"#).get()
    #expect(taken == Customer(id: "5", email: "a@b", appAccountToken: "7e3fb204-2a0f-4d66-9e9a-6a2f3f3f1a10"))
    #expect(try customer("5", #"{"appAccountToken":null}"#).get() == Customer(id: "5"))
  }

  @Test(arguments: ["", "x", "7e3fb2042a0f4d669e9a6a2f3f3f1a10", "7e3fb204-2a0f-4d66-9e9a-6a2f3f3f1a1g"])
  func wrongToken(token: String) {
    #expect(code(customer("5", #"{"appAccountToken":"\#(token)"}"#)) == "REQ0001")
  }

  @Test func `an answer has the number of an id that is one`() {
    func text(_ customer: Customer) -> String {
      String(decoding: jsonResponse(200, CustomerBody(customer)).body, as: UTF8.self)
    }
    #expect(text(Customer(id: "5", email: "a@b")) == #"{"cleengCustomerId":5,"customerId":"5","email":"a@b"}"#)
    #expect(text(Customer(id: "05")) == #"{"customerId":"05"}"#)
  }

  @Test func wrongBody() {
    #expect(code(customer("5", "x")) == "REQ0001")
    #expect(code(customer("5", #"{"email":5}"#)) == "REQ0001")
    #expect(code(customer("5", "{}", type: "text/plain")) == "REQ0415")
  }

  // MARK: Queries

  private func request(_ query: [(name: String, value: String)]) -> HTTPServerRequest {
    HTTPServerRequest(method: "GET", path: [], query: query, headers: [], body: [])
  }

  @Test func `a search names one address`() throws {
    #expect(try requestedEmail(request([("email", "Jo@Example.com")])) == "Jo@Example.com")
    for (query, detail) in [
      ([], "email: is missing"), ([("mail", "a@b")], "mail: is not known; expected email"),
      ([("email", "a@b"), ("email", "a@b")], "email: is there twice"),
      ([("email", "a")], "email: expected an address of at most 254 characters"),
    ] {
      #expect(throws: Problem.invalidQuery(detail)) { try requestedEmail(request(query)) }
    }
  }

  @Test func `a page of the audit log`() throws {
    let first = try AuditRequest(request([]))
    #expect(first.limit == 50 && first.before == nil)
    let next = try AuditRequest(request([("before", "9223372036854775807"), ("limit", "250")]))
    #expect(next.limit == 250 && next.before == .max)
    for (name, value) in [
      ("limit", "0"), ("limit", "251"), ("limit", "+1"), ("limit", "01"), ("before", "0"), ("before", "x"),
      ("before", "9223372036854775808"), ("cursor", "1"),
    ] {
      #expect(throws: Problem.self) { try AuditRequest(request([(name, value)])) }
    }
  }
}

/// What the answer to an erasure says.
struct ErasureAnswerTests {
  private func kept(_ change: (inout Erasure) -> Void) -> [String] {
    var erasure = Erasure()
    change(&erasure)
    return ErasureAnswer(erasure).kept.map(\.what)
  }

  @Test func `what stays is said where there is something`() {
    let always = kept { _ in }
    #expect(always.count == 3 && always[0].contains("SHA-256"))
    #expect(kept { $0.purchases = 1 }.first?.hasPrefix("purchases, ") == true)
    #expect(kept { $0.ownerships = 1 }.first?.hasPrefix("purchases, ") == true)
    let ofPurchases = kept { $0.purchases = 1 }
    #expect(ofPurchases.count == always.count + 2 && ofPurchases[1].hasPrefix("Apple's notifications "))
    #expect(kept { $0.synchronizations = 1 }.first?.hasPrefix("results ") == true)
    #expect(kept { $0.openSynchronizations = 2 }.first?.hasPrefix("2 synchronizations under way") == true)
    #expect(kept { $0.refundRequests = 1 }.first?.hasPrefix("requests for refunds ") == true)
    #expect(kept { $0.undeliveredEvents = 3 }.first?.hasPrefix("3 events ") == true)
  }

  @Test func `each number is told`() {
    var erasure = Erasure()
    (erasure.purchases, erasure.ownerships, erasure.synchronizations, erasure.openSynchronizations) = (1, 2, 3, 4)
    (erasure.events, erasure.undeliveredEvents, erasure.answers, erasure.auditEntries) = (5, 6, 7, 8)
    (erasure.consents, erasure.refundRequests, erasure.grants, erasure.notes) = (9, 10, 11, 12)
    erasure.sandboxAccess = 13
    let text = String(decoding: jsonResponse(200, ErasureAnswer(erasure)).body, as: UTF8.self)
    #expect(
      text.hasPrefix(
        #"{"erased":{"attemptResponses":7,"auditEntries":8,"consents":9,"events":5,"grants":11,"notes":12,"#
          + #""ownerships":2,"purchases":1,"refundRequests":10,"sandboxAccess":13,"#
          + #""synchronizations":7},"kept":[{"what":""#))
  }
}
