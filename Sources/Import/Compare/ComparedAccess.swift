public import Domain
import JSON

/// One thing that a customer may have access to, as both systems see it.
public struct ComparedAccess: Sendable, Equatable {
  /// What it is.
  public enum Subject: Sendable, Hashable, Comparable {
    /// An offer of the publisher's.
    case offer(OfferId)
    /// A row for which there is no offer here: nobody knows the purchase, or no offer has its product.
    case transaction(TransactionId)

    public static func < (one: Subject, other: Subject) -> Bool {
      switch (one, other) {
      case (.offer(let one), .offer(let other)): one < other
      case (.transaction(let one), .transaction(let other)): one < other
      case (.offer, .transaction): true
      case (.transaction, .offer): false
      }
    }
  }

  public let subject: Subject
  /// Whether the other system gives access.
  public var there = false
  /// Whether Countersign gives access.
  public var here = false

  /// Whether only one of them does.
  public var differs: Bool { there != here }

  /// As an object of a report.
  var json: [UInt8] {
    JSONWriter.object { json in
      switch subject {
      case .offer(let id): json.member("offerId", id)
      case .transaction(let id): json.member("transactionId", id)
      }
      json.member("there", there)
      json.member("here", here)
    }
  }
}

extension ComparedCustomer {
  /// What the customer may have access to, in the order of the offers' ids.
  ///
  /// The product of a purchase that the ledger knows decides which offer a row is about. For another row, the offer
  /// that the row claims does, if the publisher has one with this id. Whoever has one offer by two purchases has it
  /// once. A consumable is no access on either side.
  ///
  /// - Parameters:
  ///   - offers: the publisher's.
  ///   - now: milliseconds since 1970.
  public func accesses(offers: OfferCatalog, now: Int64) -> [ComparedAccess] {
    var found: [ComparedAccess.Subject: ComparedAccess] = [:]
    for row in rows {
      guard let subject = Self.subject(of: row, offers) else { continue }
      var access = found[subject] ?? ComparedAccess(subject: subject)
      access.there = access.there || row.row.claim.givesAccess(at: now)
      found[subject] = access
    }
    for entitlement in entitlements where entitlement.accessGranted {
      let subject = ComparedAccess.Subject.offer(entitlement.offerId)
      found[subject, default: ComparedAccess(subject: subject)].here = true
    }
    return found.values.sorted { $0.subject < $1.subject }
  }

  /// What a row is about; `nil` for a consumable.
  private static func subject(of row: Row, _ offers: OfferCatalog) -> ComparedAccess.Subject? {
    guard let deciding = row.purchase?.deciding else {
      guard let claimed = row.row.claim.offerId, offers.contains(claimed) else {
        return .transaction(row.row.transactionId)
      }
      return .offer(claimed)
    }
    guard deciding.kind != .consumable else { return nil }
    return offers.offer(forProduct: deciding.productId).map { .offer($0.id) } ?? .transaction(row.row.transactionId)
  }
}

extension ClaimedPurchase {
  /// Whether the other system gives access at a time. A row without an end gives it.
  func givesAccess(at now: Int64) -> Bool { expiresAt.map { $0 > now } ?? true }
}
