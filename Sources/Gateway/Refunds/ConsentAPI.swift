import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Service

/// Answers a publisher's requests about its customers' consents.
@LoopActor
struct ConsentAPI {
  let context: RoleContext
  let consents: Consents
  let publisher: Publisher

  func put(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    let consent = try requestedConsent(call.request, now: context.now())
    let answer = try await context.asking {
      try await consents.put(consent, of: customer, isRequired: publisher.customers == .registered)
    }
    guard answer.isKnown else { throw .noCustomer }
    return Self.answer(consent, of: customer, isPresent: answer.present == consent)
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    guard let present = try await context.asking({ try await consents.present(of: customer) }) else {
      throw .notFound("The ledger has no decision of this customer; PUT /customers/{customerId}/consent notes one.")
    }
    return Self.answer(present, of: customer, isPresent: true)
  }

  private func customer(_ call: Call) throws(Problem) -> CustomerKey {
    CustomerKey(publisherId: publisher.id, id: try customerId(call[.customerId]))
  }

  private static func answer(_ consent: Consent, of customer: CustomerKey, isPresent: Bool) -> HTTPServerResponse {
    jsonResponse(200, written: document(consent, of: customer, isPresent: isPresent))
  }

  /// A decision as the API shows it.
  nonisolated static func document(_ consent: Consent, of customer: CustomerKey, isPresent: Bool) -> [UInt8] {
    JSONWriter.object { writer in
      writer.customer(customer.id)
      writer.member("consented", consent.isGiven)
      writer.member("isPresent", isPresent)
      writer.member("textVersion", consent.textVersion)
      writer.time("time", consent.time)
    }
  }
}

/// The members of a decision in a body.
let consentMembers = ["consented", "textVersion", "time"]

/// Reads a decision from a request, as it is kept.
///
/// - Parameter now: milliseconds since 1970.
/// - Throws: ``Problem``: 400 REQ0001, 409 for a time in the future, or 415.
func requestedConsent(_ request: HTTPServerRequest, now: Int64) throws(Problem) -> Consent {
  let body = try BodyReader(try jsonBody(request), knows: consentMembers)
  guard let isGiven = try body.flag("consented") else { throw body.problem("consented", "is missing") }
  guard let version = try body.text("textVersion", .ruled) else { throw body.problem("textVersion", "is missing") }
  guard (1...128).contains(version.unicodeScalars.count), !version.utf8.contains(0) else {
    throw body.problem("textVersion", "expected 1 to 128 characters, none of them NUL")
  }
  guard let time = try body.text("time", .ruled) else { throw body.problem("time", "is missing") }
  guard let milliseconds = milliseconds(rfc3339: time) else {
    throw body.problem("time", "expected a time after RFC 3339, such as 2026-11-23T09:00:00Z")
  }
  guard let consent = Consent(isGiven: isGiven, textVersion: version, time: milliseconds).kept(at: now) else {
    throw .conflict("The time lies in the future. A later decision could not take it back.")
  }
  return consent
}
