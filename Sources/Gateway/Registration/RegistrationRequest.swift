import Configuration
import Domain
import Formats
import FoundationEssentials
import Glibc
package import HTTPServer
package import JSON

/// A checked registration, as the client sent it.
struct RegistrationRequest: Equatable {
  let customerId: CustomerId
  let transactionId: TransactionId
  let ipAddress: String?
  /// The transaction as Apple signed it, if the client sent it: not verified yet.
  let signedTransaction: String?
  /// The client's id for the synchronization, if the client sent one.
  let correlationId: SynchronizationId?

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
    guard TransactionIdentifier.isValid(transaction) else {
      throw .invalidBody("transactionId: expected 1 to \(TransactionIdentifier.longest) digits")
    }
    if let address = ipAddress {
      var parsed = in_addr()
      guard !address.utf8.contains(0), inet_pton(AF_INET, address, &parsed) == 1 else {
        throw .invalidBody("ipAddress: expected an IPv4 address")
      }
    }
    let name = request.header("Correlation-Id")
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

/// Refuses a missing body, and a body that the client does not declare as JSON.
package func requireJSON(_ request: HTTPServerRequest) throws(Problem) {
  guard !request.body.isEmpty else {
    throw .invalidBody("The body is missing; send JSON, with Content-Type: application/json.")
  }
  let type = request.header("Content-Type")
  if type == "application/json" { return }  // nearly every client sends exactly this
  let parts = type?.split(separator: ";", omittingEmptySubsequences: false) ?? []
  let essence = (parts.first ?? "").drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
  guard String(essence).lowercased() == "application/json" else { throw .unsupportedMediaType }
}

/// Reads a JSON body.
///
/// - Throws: ``Problem``: 400 REQ0001.
package func readJSON<Value>(
  of request: HTTPServerRequest, limits: JSONLimits = .outside, _ take: (JSONText) throws -> Value
) throws(Problem) -> Value {
  do {
    return try take(JSONText(request.body, limits: limits))
  } catch DecodingError.keyNotFound(let key, _) {
    throw .invalidBody("\(key.stringValue): is missing")
  } catch DecodingError.typeMismatch(let type, let context), DecodingError.valueNotFound(let type, let context) {
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    throw .invalidBody(path.isEmpty ? "expected a JSON object" : "\(path): expected \(jsonName(of: type))")
  } catch let error as TextTooLong {
    throw .invalidBody("\(error.path): expected \(error.limit)")
  } catch let error as JSONSyntaxError {
    throw .invalidBody("\(error)")
  } catch {
    throw .invalidBody("expected a JSON object")
  }
}

/// The JSON name of a type.
private func jsonName(of type: Any.Type) -> String {
  switch type {
  case is String.Type: "a text"
  case is any BinaryInteger.Type: "a whole number"
  case is any BinaryFloatingPoint.Type: "a number"
  case is Bool.Type: "true or false"
  default: "an object"
  }
}
