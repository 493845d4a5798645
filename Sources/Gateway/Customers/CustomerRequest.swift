import Domain
import HTTPServer

/// Reads a customer out of a request.
///
/// - Throws: ``Problem``: 400 REQ0003 for the id, 400 REQ0001 or 415 for the body.
func requestedCustomer(_ id: String, _ request: HTTPServerRequest) throws(Problem) -> Customer {
  let id = try customerId(id)
  guard !request.body.isEmpty else { return Customer(id: id) }
  try requireJSON(request)
  let body: CustomerBody = try decodedBody(request)
  if let email = body.email {
    // An address is only kept, never written to: an at sign between two texts will do.
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    guard email.utf8.count <= 254, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
      throw .invalidBody("email: expected an address of at most 254 characters")
    }
  }
  return Customer(id: id, email: body.email)
}

/// Reads a customer's id out of a path.
func customerId(_ text: String) throws(Problem) -> Int64 {
  guard let id = Int64(text), id >= 1, String(id) == text else {
    throw .invalidPath("customer id: expected a number from 1")
  }
  return id
}

/// A customer in a body; the id in an answer only.
struct CustomerBody: Codable {
  var id: Int64?
  var email: String?

  init(_ customer: Customer) {
    id = customer.id
    email = customer.email
  }
}
