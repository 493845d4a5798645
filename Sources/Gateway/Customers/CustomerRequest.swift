package import Domain
import Formats
import HTTPServer

/// Reads a customer from a request.
///
/// - Throws: ``Problem``: 400 REQ0003 for the id, 400 REQ0001 or 415 for the body.
func requestedCustomer(_ id: String, _ request: HTTPServerRequest) throws(Problem) -> Customer {
  let id = try customerId(id)
  guard !request.body.isEmpty else { return Customer(id: id) }
  try requireJSON(request)
  let (email, tokenText) = try readJSON(of: request) { text in
    let body = try RequestObject(text)
    // The answer has both, and a client may send it back.
    _ = try (body.int64("cleengCustomerId"), body.text("customerId", .ruled))
    return try (body.text("email", .ruled), body.text("appAccountToken", .ruled))
  }
  if let email { try require(email: email) { .invalidBody($0) } }
  var token: AppAccountToken?
  if let text = tokenText {
    token = AppAccountToken.canonical(text)
    guard token != nil else { throw .invalidBody("appAccountToken: expected a UUID with hyphens") }
  }
  return Customer(id: id, email: email, appAccountToken: token)
}

/// Reads a customer's id from a path.
package func customerId(_ text: String) throws(Problem) -> CustomerId {
  let id = CustomerId(text)
  guard id.isValid else { throw .invalidPath("customerId: \(CustomerId.expectation)") }
  return id
}

/// Reads the address that a client looks for.
///
/// - Throws: ``Problem``: 400 REQ0002.
func requestedEmail(_ request: HTTPServerRequest) throws(Problem) -> String {
  try requireOnly(["email"], request)
  guard let email = request.query("email") else { throw .invalidQuery("email: is missing") }
  try require(email: email) { .invalidQuery($0) }
  return email
}

/// Refuses a text that is no address.
private func require(email: String, _ problem: (String) -> Problem) throws(Problem) {
  guard isEmailAddress(email) else { throw problem("email: expected an address of at most 254 characters") }
}

/// Whether a text is an address. The gateway only stores the address and never writes to it. So an at sign between two
/// texts is enough.
package func isEmailAddress(_ text: String) -> Bool {
  let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
  return text.unicodeScalars.count <= 254 && parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
    && !text.utf8.contains(0)
}

/// A customer in an answer.
struct CustomerBody: Encodable {
  var appAccountToken: AppAccountToken?
  var cleengCustomerId: Int64?
  var customerId: CustomerId?
  var email: String?

  init(_ customer: Customer) {
    appAccountToken = customer.appAccountToken
    cleengCustomerId = customer.id.number
    customerId = customer.id
    email = customer.email
  }
}
