import Crypto
import Domain
import DomainSupport
import JSON
import Ledger
import Service
import Testing

@testable import Console
@testable import Coordination

/// The twins in JSON: what the page shows, for the same person, and ids as texts.
struct TwinTests {
  private static let now = AnsweredPurchases.now

  private static func view(_ role: ConsoleRole) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func purchase(
    _ role: ConsoleRole, payload: String = #"{"appAccountToken":"secret"}"#, isRead: Bool = true, pieces: Int = 1
  ) throws -> PurchasePage {
    var facts = AnsweredPurchases.transaction()
    (facts.price, facts.currency, facts.appAccountToken) = (1990, "EUR", "secret")
    let purchase = AnsweredPurchases.purchase(facts, renewal: AnsweredPurchases.renewal())
    let request = RefundRequest(
      id: "rfr_1", purchase: purchase.key, transactionId: "101", bundleId: "com.one", productId: "monthly",
      kind: .autoRenewable, customerId: "secret", reason: "FRAUD", requestedAt: now, state: .open)
    let piece = ConsoleEvidence(
      kind: "transaction", source: "client", signedAt: now, receivedAt: now, payload: Array(payload.utf8),
      header: "header", signature: [1])
    return PurchasePage(
      view: try view(role),
      record: PurchaseRecord(
        purchase,
        ownerships: [
          OwnershipPeriod(subscriptionId: 1, customerId: nil, beganAt: now - 9, endedAt: now - 5, cause: "restore"),
          OwnershipPeriod(subscriptionId: 2, customerId: "secret", beganAt: now - 5, endedAt: nil, cause: "transfer"),
        ]),
      rules: AccessRules(offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), allowsSandbox: false),
      notifications: isRead ? [ConsoleMoment(kind: .notification, at: now, what: "DID_RENEW", id: "uuid")] : nil,
      evidence: isRead ? Array(repeating: piece, count: pieces) : nil, requests: [request])
  }

  /// The twin as text, if it is JSON.
  private static func text(_ json: [UInt8]) throws -> String {
    _ = try JSONText(json, limits: .own).decoded(as: JSONValue.self)
    return String(decoding: json, as: UTF8.self)
  }

  @Test func `a purchase's twin has what the page shows`() throws {
    let text = try Self.text(try Self.purchase(.support).json)
    for words in [
      #""publisherId":"7""#, #""appAccountToken":"secret""#, #""customerId":"secret""#, #""because":"restore""#,
      #""isErased":true"#, #""notifications":[{"#, #""what":"DID_RENEW""#, #""refundRequestId":"rfr_1""#,
      #""payload":{"appAccountToken":"secret"}"#, #""jws":"header."#, #""priceThousandths":1990"#, #""currency":"EUR""#,
      #""decidingTransactionId":"101""#, #""decides":true"#, #""missing":[]"#, #""signedDataHasMore":false"#,
    ] {
      #expect(text.contains(words), "\(words): \(text)")
    }
    let many = try Self.text(try Self.purchase(.support, pieces: PurchasePage.most + 1).json)
    #expect(many.contains(#""signedDataHasMore":true"#))
    #expect(many.ranges(of: #""jws":"#).count == PurchasePage.most)
  }

  @Test func `a viewer's twin has no personal data`() throws {
    let text = try Self.text(try Self.purchase(.viewer).json)
    #expect(!text.contains("secret") && !text.contains("signedData") && !text.contains("jws"))
    #expect(text.contains(#""because":"transfer""#) && text.contains(#""what":"DID_RENEW""#))
  }

  @Test func `what was not read is named, and what is not JSON is left out`() throws {
    let unread = try Self.text(try Self.purchase(.support, isRead: false).json)
    #expect(unread.contains(#""missing":["notifications","signedData"]"#) && !unread.contains(#""notifications":["#))
    #expect(try Self.text(try Self.purchase(.viewer, isRead: false).json).contains(#""missing":["notifications"]"#))
    let broken = try Self.text(try Self.purchase(.support, payload: #"{"a":1},"accessGranted":true,{"#).json)
    #expect(!broken.contains("payload") && broken.contains(#""jws":"header."#))
  }

  @Test func `the fleet's twin has what the page shows of a process`() throws {
    var beat = FleetBeat(
      id: "w", role: "worker", version: "1", place: "host:7", startedAt: Self.now,
      readings: [
        .init("countersign_job_slots", [], 266), .init("countersign_jobs_in_flight", [], 3),
        .init(FleetHeart.cpu, [], 0.25), .init(FleetHeart.longestTurn, [], .infinity),
        .init("countersign_process_resident_memory_bytes", [], 1_048_576),
      ])
    (beat.heardAt, beat.readAt) = (Self.now, Self.now)
    let budget = CallBudget(endpoint: "e", perSecond: 0.5)
    let place = CallPlace(bundleId: "com.one", environment: .production, budgets: [budget])
    let page = FleetPage(
      view: try Self.view(.operator), question: ListQuestion(choices: [7]), beats: [beat],
      budgets: [CallBudgetState(place, budget, used: nil, pause: 99_000_000_000, now: 1)])
    let text = try Self.text(page.json)
    for words in [
      #""jobs":3,"jobSlots":266,"place":"host:7","processorShare":0.25,"residentBytes":1048576"#, #""perSecond":0.5"#,
      #""hasMoreApps":false"#,
    ] {
      #expect(text.contains(words), "\(words): \(text)")
    }
    // JSON has no such number.
    #expect(!text.contains("slowestTurnSeconds"))
  }
}
