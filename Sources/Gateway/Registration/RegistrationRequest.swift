import Configuration
import Domain
import Formats
import FoundationEssentials
import Glibc
import HTTPServer
import JSON

/// A checked registration, as the client sent it.
struct RegistrationRequest: Equatable {
  let customerId: CustomerId
  let transactionId: TransactionId
  let ipAddress: String?
  /// The transaction as Apple signed it, if the client sent it: not verified yet.
  let signedTransaction: String?
  /// The client's id for the synchronization, if the client sent one.
  let correlationId: SynchronizationId?
  /// How urgent it is to the client.
  let priority: RequestPriority

  /// No body of our own API is longer by default (`gateway.maxBodyBytes`), and Apple's have 3 to 6 KB.
  private static let signedTransaction = TextLimit.bytes(16_384)

  /// Reads the request.
  ///
  /// - Throws: ``Problem``: 415, 400 REQ0001 or 400 REQ0004, with the expected form.
  init(_ request: HTTPServerRequest) throws(Problem) {
    try requireJSON(request)
    var nullName: String?
    let (number, text, transaction, ipAddress, signed) = try readJSON(of: request) { text in
      let body = try RequestObject(text)
      if body.isNull("cleengCustomerId") { nullName = "cleengCustomerId" }
      if body.isNull("customerId") { nullName = "customerId" }
      return try (
        body.int64("cleengCustomerId"), body.text("customerId", .ruled),
        body.requiredText("transactionId", .ruled), body.text("ipAddress", .ruled),
        body.text("signedTransaction", Self.signedTransaction)
      )
    }
    if let nullName, number != nil || text != nil {
      throw .invalidBody("\(nullName): is null; leave it out, or name the customer")
    }
    customerId = try requestedCustomerId(number, text)
    (transactionId, self.ipAddress, signedTransaction) = (TransactionId(transaction), ipAddress, signed)
    guard TransactionId.isValid(transaction) else {
      throw .invalidBody("transactionId: expected 1 to \(TransactionId.longest) digits")
    }
    if let address = ipAddress {
      var parsed = in_addr()
      guard !address.utf8.contains(0), inet_pton(AF_INET, address, &parsed) == 1 else {
        throw .invalidBody("ipAddress: expected an IPv4 address")
      }
    }
    let name = request.header("Correlation-Id")
    priority = RequestPriority(request.header("Priority"))
    correlationId = name.map(SynchronizationId.init(_:))
    if let name, !SynchronizationId.isValid(name) {
      throw .invalidHeaders("Correlation-Id: expected 1 to 256 visible ASCII characters")
    }
  }
}

/// Takes the customer's id from a body, which names the customer by a number or by a text.
///
/// - Throws: ``Problem``: 400 REQ0001 for none and for both.
func requestedCustomerId(_ number: Int64?, _ text: String?) throws(Problem) -> CustomerId {
  switch (number, text) {
  case (nil, nil):
    throw .invalidBody("cleengCustomerId: is missing; send cleengCustomerId, a whole number, or customerId, a text")
  case (.some, .some): throw .invalidBody("customerId: send either cleengCustomerId or customerId, not both")
  case (let number?, nil):
    guard let id = CustomerId(number: number) else { throw .invalidBody("cleengCustomerId: expected a number from 1") }
    return id
  case (nil, let text?):
    let id = CustomerId(text)
    guard id.isValid else { throw .invalidBody("customerId: \(CustomerId.expectation)") }
    return id
  }
}
