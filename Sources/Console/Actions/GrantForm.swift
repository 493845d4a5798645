import Domain
import Formats

/// A grant as a person writes it into the form: texts, which may be anything.
struct GrantForm: Sendable, Equatable {
  /// The grant's id. The preview makes it, so that a form that is sent twice gives one grant.
  var id = ""
  var offer = ""
  /// The last day with access, in UTC.
  var until = ""
  var reason = Grant.Reason.support.rawValue
  var note = ""

  /// Why a form cannot be taken, in words for the person.
  struct Mistake: Error, Equatable {
    let words: String
  }

  init() {}

  init(_ body: FormBody) {
    id = body["grantId"] ?? ""
    offer = body["offerId"] ?? ""
    until = body["until"] ?? ""
    reason = body["reason"] ?? ""
    note = body["note"] ?? ""
  }

  /// The names and the values for a form without fields to fill in.
  var hidden: [(name: String, value: String)] {
    [("grantId", id), ("offerId", offer), ("until", until), ("reason", reason), ("note", note)]
  }

  /// Reads the grant.
  ///
  /// - Parameters:
  ///   - limits: those of the API. The commit looks at them again, and at the customer's other grants.
  ///   - now: milliseconds since 1970.
  func grant(
    to customer: CustomerKey, offers: OfferCatalog, limits: GrantLimits, now: Int64
  ) throws(Mistake) -> Grant {
    guard let id = GrantId(canonical: id) else { throw Mistake(words: "The form is not complete. Fill it in again.") }
    guard offers.contains(OfferId(offer)) else { throw Mistake(words: GrantRefusal.unknownOffer.words(limits)) }
    guard until.utf8.count == 10, let lastDay = milliseconds(rfc3339: until + "T00:00:00Z") else {
      throw Mistake(words: "Choose the last day with access, such as 2026-12-24.")
    }
    let end = lastDay.adding(.millisecondsOfDay)
    guard end > now else { throw Mistake(words: GrantRefusal.alreadyOver.words(limits)) }
    guard end <= now.adding(Int64(limits.longestDays) * .millisecondsOfDay) else {
      throw Mistake(words: GrantRefusal.tooLong.words(limits))
    }
    guard let reason = Grant.Reason(rawValue: reason) else { throw Mistake(words: "Choose a reason.") }
    guard note.unicodeScalars.count <= Grant.longestNote, !note.utf8.contains(0) else {
      throw Mistake(words: "The note may have \(Grant.longestNote) characters.")
    }
    return Grant(
      id: id, customer: customer, offerId: OfferId(offer), reason: reason, note: note.isEmpty ? nil : note,
      createdAt: now, endsAt: end)
  }
}

extension GrantRefusal {
  /// Why, and what the person can do.
  func words(_ limits: GrantLimits) -> String {
    switch self {
    case .idInUse: "This form has given another grant already. Look at the grants below, and fill in a new form."
    case .alreadyOver: "The last day has passed. Choose today or a later day."
    case .tooLong: "A grant may last \(limits.longestDays) days. Choose an earlier day."
    case .unknownOffer: "The publisher no longer has this offer. Choose another one."
    case .openOfCustomer:
      "The customer has \(limits.openOfCustomer) open grants, which is the most. Withdraw one of them first."
    case .perDay: "The publisher has given \(limits.perDay) grants today, which is the most. Try again tomorrow (UTC)."
    }
  }
}

extension Grant.Reason {
  /// What it says to people.
  var words: String {
    switch self {
    case .support: "support: a problem is being looked into"
    case .goodwill: "goodwill: an apology"
    case .promo: "promo: a promotion"
    }
  }
}
