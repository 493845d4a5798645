import Domain
import Formats

/// An override of the sandbox as a person writes it into the form: texts, which may be anything.
struct SandboxForm: Sendable, Equatable {
  /// The last day with access, in UTC.
  var until = ""
  var reason = SandboxOverride.Reason.support.rawValue
  var note = ""

  /// Why a form cannot be taken, in words for the person.
  struct Mistake: Error, Equatable {
    let words: String
  }

  init() {}

  init(_ body: FormBody) {
    until = body["until"] ?? ""
    reason = body["reason"] ?? ""
    note = body["note"] ?? ""
  }

  /// The names and the values for a form without fields to fill in.
  var hidden: [(name: String, value: String)] { [("until", until), ("reason", reason), ("note", note)] }

  /// Reads the override.
  ///
  /// - Parameters:
  ///   - limits: those of the API. The commit looks at them again, and at the publisher's other customers.
  ///   - now: milliseconds since 1970.
  func override(
    of customer: CustomerKey, limits: SandboxOverrideLimits, now: Int64
  ) throws(Mistake) -> SandboxOverride {
    guard until.utf8.count == 10, let lastDay = milliseconds(rfc3339: until + "T00:00:00Z") else {
      throw Mistake(words: "Choose the last day with access, such as 2026-12-24.")
    }
    let end = lastDay.adding(.millisecondsOfDay)
    guard end > now else { throw Mistake(words: SandboxOverrideRefusal.alreadyOver.words(limits)) }
    guard end <= now.adding(Int64(limits.longestDays) * .millisecondsOfDay) else {
      throw Mistake(words: SandboxOverrideRefusal.tooLong.words(limits))
    }
    guard let reason = SandboxOverride.Reason(rawValue: reason) else { throw Mistake(words: "Choose a reason.") }
    guard note.unicodeScalars.count <= SandboxOverride.longestNote, !note.utf8.contains(0) else {
      throw Mistake(words: "The note may have \(SandboxOverride.longestNote) characters.")
    }
    return SandboxOverride(
      customer: customer, endsAt: end, reason: reason, note: note.isEmpty ? nil : note, setAt: now)
  }
}

extension SandboxOverrideRefusal {
  /// Why, and what the person can do.
  func words(_ limits: SandboxOverrideLimits) -> String {
    switch self {
    case .alreadyOver: "The last day has passed. Choose today or a later day."
    case .tooLong: "Sandbox access may last \(limits.longestDays) days. Choose an earlier day."
    case .tooMany:
      "\(limits.customers) customers of the publisher have sandbox access by hand, which is the most. Withdraw it from "
        + "one of them first."
    }
  }
}

extension SandboxOverride.Reason {
  /// What it says to people.
  var words: String {
    switch self {
    case .support: "support: a problem is being looked into"
    case .testing: "testing: the customer tests the app"
    case .appReview: "appReview: the account of Apple's App Review"
    }
  }
}
