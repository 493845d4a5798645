import Domain
import HTTPServer

/// Reads a customer from a request.
///
/// - Throws: ``Problem``: 400 REQ0003 for the id, 400 REQ0001 or 415 for the body.
func requestedCustomer(_ id: String, _ request: HTTPServerRequest) throws(Problem) -> Customer {
  let id = try customerId(id)
  guard !request.body.isEmpty else { return Customer(id: id) }
  try requireJSON(request)
  let body: CustomerBody = try decodedBody(request)
  if let email = body.email {
    // The gateway only stores the address and never writes to it. So an at sign between two texts is enough.
    let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard email.unicodeScalars.count <= 254, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
      throw .invalidBody("email: expected an address of at most 254 characters")
    }
  }
  return Customer(id: id, email: body.email)
}

/// Reads a customer's id from a path.
func customerId(_ text: String) throws(Problem) -> Int64 {
  guard let id = Int64(text), id >= 1, String(id) == text else {
    throw .invalidPath("customer id: expected a number from 1")
  }
  return id
}

/// A customer in a body. Only an answer has the id.
struct CustomerBody: Codable {
  var id: Int64?
  var email: String?

  init(_ customer: Customer) {
    id = customer.id
    email = customer.email
  }
}
