import Domain
import Formats
import HTTPServer

/// The members of an override of the sandbox in a body.
let sandboxOverrideMembers = ["until", "reason", "note"]

/// Reads an override that somebody wants to set.
///
/// - Parameter now: milliseconds since 1970.
/// - Throws: ``Problem``: 400 REQ0001, or 415.
func requestedSandboxOverride(
  _ request: HTTPServerRequest, customer: CustomerKey, now: Int64
) throws(Problem) -> SandboxOverride {
  try requireOnly([], request)
  let body = try BodyReader(try jsonBody(request), knows: sandboxOverrideMembers)
  let end = try body.requiredTime("until")
  guard let reason: SandboxOverride.Reason = try body.choice("reason") else {
    throw body.problem("reason", "is missing")
  }
  let note = try body.noteByHand()
  return SandboxOverride(customer: customer, endsAt: end, reason: reason, note: note, setAt: now)
}

extension Problem {
  /// An override that was not set.
  init(_ refusal: SandboxOverrideRefusal, _ limits: SandboxOverrideLimits) {
    switch refusal {
    case .alreadyOver: self = .invalidBody("until: expected a time in the future")
    case .tooLong: self = .invalidBody("until: expected a time within \(limits.longestDays) days")
    case .tooMany:
      self = Problem(
        409, "LIM0014", "Too many customers with sandbox access",
        detail:
          "\(limits.customers) customers of the publisher have sandbox access by hand. Withdraw it from one of them, or "
          + "list customers in sandboxAccess of the publisher's file.")
    }
  }
}
