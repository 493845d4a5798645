import Domain
import Formats
import HTTPServer
import JSON

/// The members of a grant in a body.
let grantMembers = ["grantId", "offerId", "expiresAt", "reason", "note"]

/// Reads a grant that somebody wants to give.
///
/// - Parameters:
///   - fresh: the id, if the client chooses none.
///   - now: milliseconds since 1970.
/// - Throws: ``Problem``: 400 REQ0001, or 415.
func requestedGrant(
  _ request: HTTPServerRequest, customer: CustomerKey, fresh: GrantId, now: Int64
) throws(Problem) -> Grant {
  try requireOnly([], request)
  let body = try BodyReader(try jsonBody(request), knows: grantMembers)
  var id = fresh
  if let text = try body.text("grantId", .ruled) {
    guard let chosen = GrantId(canonical: text) else { throw body.problem("grantId", "expected a UUID with hyphens") }
    id = chosen
  }
  guard let offer = try body.text("offerId", .name) else { throw body.problem("offerId", "is missing") }
  let end = try body.requiredTime("expiresAt")
  guard let reason: Grant.Reason = try body.choice("reason") else { throw body.problem("reason", "is missing") }
  let note = try body.noteByHand()
  return Grant(
    id: id, customer: customer, offerId: OfferId(offer), reason: reason, note: note, createdAt: now, endsAt: end)
}

extension Problem {
  /// A grant that was not given.
  ///
  /// - Parameter now: milliseconds since 1970.
  init(_ refusal: GrantRefusal, _ limits: GrantLimits, now: Int64) {
    switch refusal {
    case .idInUse: self = .conflict("grantId: the publisher has another grant with this id.")
    case .alreadyOver: self = .invalidBody("expiresAt: expected a time in the future")
    case .tooLong:
      self = .invalidBody("expiresAt: expected a time within \(limits.longestDays) days (gateway.limits.grantDays)")
    case .unknownOffer: self = .invalidBody("offerId: the publisher has no offer with this id")
    case .openOfCustomer:
      self = Problem(
        409, "LIM0009", "Too many open grants",
        detail: "The customer has gateway.limits.openGrantsPerCustomer open grants. Withdraw one of them first.")
    case .perDay: self = .limited(.publisherGrants, .milliseconds(GrantLimits.restOfDay(at: now)))
    }
  }
}

extension GrantRefusal {
  /// The limit that it is about.
  var limit: Limit? {
    switch self {
    case .openOfCustomer: .customerGrants
    case .perDay: .publisherGrants
    case .idInUse, .alreadyOver, .tooLong, .unknownOffer: nil
    }
  }
}
