import AppStore
import Crypto
public import Domain
public import EventLoop
import Formats
import JSON
public import Ledger
public import Postgres

/// Computes every purchase and every customer's entitlements again, from the kept evidence, owners and offers, and
/// compares them with the rows and with what was told.
@LoopActor
public struct LedgerCheck {
  private let ledger: KeptLedger
  private let publishers: [PublisherId: Publisher]
  private let now: Int64
  /// One line for each difference; empty when all is well.
  public private(set) var differences: [String] = []

  /// Checks a ledger at rest.
  ///
  /// - Parameter now: milliseconds since 1970.
  public init(_ ledger: KeptLedger, publishers: [Publisher], now: Int64) {
    self.ledger = ledger
    self.publishers = Dictionary(publishers.map { ($0.id, $0) }) { one, _ in one }
    self.now = now
    checkPurchases()
    checkOwners()
    checkEntitlements()
    checkEvents()
    differences.sort()
  }

  /// Reads a ledger at rest and returns its differences.
  public static func differences(in postgres: PostgresClient, publishers: [Publisher], now: Int64) async throws
    -> [String]
  {
    LedgerCheck(try await KeptLedger.read(postgres), publishers: publishers, now: now).differences
  }

  private mutating func found(_ difference: String) { differences.append(difference) }

  // MARK: Purchases

  private mutating func checkPurchases() {
    var pieces: [PurchaseKey: [Evidence]] = [:]
    for kept in ledger.evidence {
      do {
        pieces[kept.purchase, default: []].append(try Evidence(kept))
      } catch {
        found("evidence \(Hex.encode(kept.payloadSHA256)) of \(kept.purchase.name) cannot be read: \(error)")
      }
      if kept.jws == nil { found("evidence of \(kept.purchase.name) has no certificates") }
    }
    let transactions = Dictionary(grouping: ledger.transactions, by: \.purchase)
    for kept in ledger.purchases {
      let key = kept.purchase.key
      guard let folded = Purchase(key, folding: pieces.removeValue(forKey: key) ?? []) else {
        found("\(key.name) has no evidence of a transaction")
        continue
      }
      compare(kept, folded)
      compare(transactions[key] ?? [], folded)
    }
    for key in pieces.keys { found("\(key.name) has evidence, but no row") }
    let known = Set(ledger.purchases.map(\.purchase.key))
    for key in transactions.keys where !known.contains(key) { found("\(key.name) has transactions, but no row") }
  }

  private mutating func compare(_ kept: KeptLedger.KeptPurchase, _ folded: Purchase) {
    let (row, name) = (kept.purchase, folded.key.name)
    var deciding = folded.deciding
    // The row of the purchase tells neither why, nor by which download, nor for which order line.
    deciding.revocationReason = nil
    deciding.appTransactionId = nil
    deciding.webOrderLineItemId = nil
    if row.deciding != deciding { found("\(name) has \(row.deciding), and its evidence says \(deciding)") }
    if row.renewal != folded.renewal {
      found("\(name) has \(row.renewal as Any), and its evidence says \(folded.renewal as Any)")
    }
    if row.status != folded.status {
      found("\(name) has \(row.status as Any), and its evidence says \(folded.status as Any)")
    }
    if row.version < 1 { found("\(name) has version \(row.version)") }
    let offer = publishers[folded.key.publisherId]?.offers.offer(forProduct: folded.deciding.productId)?.id
    if kept.offerId != offer { found("\(name) is for offer \(kept.offerId ?? "-"), not \(offer ?? "-")") }
  }

  private mutating func compare(_ kept: [KeptLedger.KeptTransaction], _ folded: Purchase) {
    var missing = folded.transactions
    for row in kept {
      let id = row.facts.transactionId
      if let facts = missing.removeValue(forKey: id) {
        if facts != row.facts { found("transaction \(id) has \(row.facts), and its evidence says \(facts)") }
      } else {
        found("transaction \(id) of \(folded.key.name) has no evidence")
      }
      if row.firstGrantedAt != nil, row.facts.kind != .consumable {
        found("transaction \(id) was granted first, and is no consumable")
      }
    }
    for id in missing.keys { found("transaction \(id) of \(folded.key.name) has evidence, but no row") }
  }

  // MARK: Owners

  private mutating func checkOwners() {
    var running = Dictionary(grouping: ledger.ownerships, by: \.purchase)
    let customers = Set(ledger.customers.map(\.key))
    for kept in ledger.purchases {
      let key = kept.purchase.key
      let owners = (running.removeValue(forKey: key) ?? []).map(\.owner)
      let owner = kept.purchase.owner.map { [$0] } ?? []
      if owners != owner { found("\(key.name) has owner \(owner), and its ownerships say \(owners)") }
      if let owner = kept.purchase.owner,
        !customers.contains(CustomerKey(publisherId: key.publisherId, id: owner.customerId))
      {
        found("\(key.name) has owner \(owner.customerId), who has no row")
      }
    }
    for key in running.keys { found("\(key.name) has an ownership, but no row") }
  }

  // MARK: Entitlements

  private mutating func checkEntitlements() {
    var owned: [CustomerKey: [Purchase]] = [:]
    for kept in ledger.purchases {
      guard let owner = kept.purchase.owner else { continue }
      let customer = CustomerKey(publisherId: kept.purchase.key.publisherId, id: owner.customerId)
      owned[customer, default: []].append(kept.purchase)
    }
    var toldAt: [CustomerKey: Int64] = [:]
    for event in ledger.events {
      if let id = event.customerId { toldAt[CustomerKey(publisherId: event.publisherId, id: id)] = event.time }
    }
    for customer in ledger.customers {
      let rules =
        publishers[customer.key.publisherId]?.accessRules(
          for: customer.key.id, owning: owned[customer.key] ?? []) ?? .none
      // An access that has ended since was told with the commit before. So the last telling's time counts, too.
      let times = [now] + (toldAt[customer.key].map { [$0] } ?? [])
      let changes = times.map { time in
        EntitlementChange.between(
          told: customer.told,
          now: Entitlements.of(
            purchases: owned[customer.key] ?? [], grants: ledger.grants.filter { $0.customer == customer.key },
            rules: rules, now: time))
      }
      guard changes.allSatisfy({ !$0.isEmpty }) else { continue }
      for change in changes[0] {
        found(
          "customer \(customer.key.id) of \(customer.key.publisherId) was told \(change.before as Any), and "
            + "\(change.after as Any) is true")
      }
    }
  }

  // MARK: Events

  private struct Told: Decodable {
    struct State: Decodable, Equatable {
      let accessGranted: Bool
      let billingProblem: Bool
      let environment: Environment
      let expiresAt: String?
      let willRenew: Bool?
    }
    struct Envelope: Decodable { let data: Told }

    let offerId: OfferId
    let before: State?
    let after: State?
  }

  /// Every version is told once, and each change begins where the one before it ended.
  private mutating func checkEvents() {
    let versions = Dictionary(ledger.customers.map { ($0.key, $0.version) }) { one, _ in one }
    let events = Dictionary(grouping: ledger.events) {
      CustomerKey(publisherId: $0.publisherId, id: $0.customerId ?? .nobody)
    }
    for (customer, events) in events {
      // An erased customer has no row, and a customer who came back begins behind a gap.
      guard let version = versions[customer] else { continue }
      let told = Set(events.compactMap(\.version)).sorted()
      for (one, next) in zip(told, told.dropFirst()) where next != one + 1 && next < 1_000_000_000_000 {
        found("customer \(customer.id) was told versions \(one) and \(next), and none between")
      }
      if let last = told.last, last != version {
        found("customer \(customer.id) has version \(version), and \(last) was told last")
      }
      checkSteps(of: customer, events.sorted { ($0.version ?? 0) < ($1.version ?? 0) })
    }
  }

  private mutating func checkSteps(of customer: CustomerKey, _ events: [Event]) {
    var last: [OfferId: Told.State?] = [:]
    for event in events {
      guard let told = try? JSONText(event.body, limits: .own).decoded(as: Told.Envelope.self).data else {
        found("event \(event.id) cannot be read")
        continue
      }
      // No entitlement and one without access are the same.
      if let before = last[told.offerId], before != told.before,
        before?.accessGranted == true || told.before?.accessGranted == true
      {
        found(
          "customer \(customer.id) was told \(before as Any), and version \(event.version ?? 0) begins with "
            + "\(told.before as Any)")
      }
      last[told.offerId] = .some(told.after)
    }
  }
}

extension PurchaseKey {
  fileprivate var name: String { "purchase \(originalTransactionId) (\(environment)) of \(publisherId)" }
}

extension Evidence {
  /// Reads a kept piece again, from the payload that Apple signed.
  fileprivate init(_ kept: KeptLedger.KeptEvidence) throws {
    let (hash, json) = (SHA256.hash(kept.payload), try JSONText(kept.payload, limits: .own))
    guard hash == kept.payloadSHA256 else { throw Tampered() }
    let facts: Facts
    switch kept.kind {
    case "transaction": facts = .transaction(try TransactionFacts(TransactionPayload(json), payloadSHA256: hash))
    default:
      let renewal = try RenewalFacts(json.decoded(as: RenewalInfoPayload.self), payloadSHA256: hash)
      facts = .renewalInfo(
        renewal, status: kept.status.map { ReportedStatus(code: $0, date: renewal.signedDate) })
    }
    self.init(facts, source: .serverAPI, signedHeader: [], payload: kept.payload, signature: [])
    guard key(of: kept.purchase.publisherId) == kept.purchase else { throw Tampered() }
  }

  private struct Tampered: Error, CustomStringConvertible {
    var description: String { "its payload has another hash, or is about another purchase" }
  }
}
