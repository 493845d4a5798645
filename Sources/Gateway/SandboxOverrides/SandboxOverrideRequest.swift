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
  guard let time = try body.text("until", .ruled) else { throw body.problem("until", "is missing") }
  guard let end = milliseconds(rfc3339: time) else {
    throw body.problem("until", "expected a time after RFC 3339, such as 2026-12-24T18:00:00Z")
  }
  guard let reason: SandboxOverride.Reason = try body.choice("reason") else {
    throw body.problem("reason", "is missing")
  }
  let note = try body.text("note", .ruled)
  if let note {
    guard (1...SandboxOverride.longestNote).contains(note.unicodeScalars.count), !note.utf8.contains(0) else {
      throw body.problem("note", "expected 1 to \(SandboxOverride.longestNote) characters, none of them NUL")
    }
  }
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
