import EventLoop
import Formats
import FoundationEssentials
import HTTP
import Harness
import Postgres
import Simulator

/// A life as the simulator tells it: what Apple knows.
struct SimulatedLife: Decodable, Equatable, Sendable {
  let originalTransactionId: String
  let state: String
  let hasAccess: Bool
  let accessUntil: Int64?
  let productId: String
  let previousOriginalTransactionId: String?
  let transactions: [Transaction]

  struct Transaction: Decodable, Equatable, Sendable {
    let transactionId: String
    let expiresDate: Int64?
    let revocationDate: Int64?
    let isUpgraded: Bool?
  }

  /// The transaction that a gateway shows. A purchase that gave way to another purchase shows its last period that was
  /// not replaced.
  var shown: Transaction? { transactions.last { $0.isUpgraded != true } ?? transactions.last }
}

/// A purchase as a gateway tells it.
struct ToldPurchase: Decodable, Sendable {
  let customerId: String?
  let transactionId: String
  let expiresDate: String?
  let revocationDate: String?
  let access: Access?

  struct Access: Decodable, Sendable {
    let accessGranted: Bool
    let expiresAt: String?
  }

  /// Returns how it differs from the truth.
  func differences(from life: SimulatedLife) -> [String] {
    guard let latest = life.shown else { return ["\(life.originalTransactionId) has no transaction"] }
    func time(_ milliseconds: Int64?) -> String? { milliseconds.map(rfc3339(milliseconds:)) }
    var lines: [String] = []
    func compare(_ name: String, _ told: String?, _ truth: String?) {
      guard told?.exact != truth?.exact else { return }
      lines.append("\(life.originalTransactionId) (\(life.state)): \(name) is \(told ?? "-"), not \(truth ?? "-")")
    }
    compare("transactionId", transactionId, latest.transactionId)
    compare("expiresDate", expiresDate, time(latest.expiresDate))
    compare("revocationDate", revocationDate, time(latest.revocationDate))
    if let access {
      compare("accessGranted", "\(access.accessGranted)", "\(life.hasAccess)")
      if life.hasAccess { compare("expiresAt", access.expiresAt, time(life.accessUntil)) }
    }
    return lines
  }
}

extension RunningFleet {
  /// Begins lives, one for each line.
  func begin(lives lines: [String]) async throws {
    let answer = await simulator.control("PUT", "/simulator/lives", lines.joined(separator: "\n"))
    guard answer.status == 201 else { throw NeverHappened(description: String(decoding: answer.body, as: UTF8.self)) }
  }

  /// Lets something happen to a life; false if it does not fit the life's state.
  @discardableResult
  func act(_ action: String, on life: String, _ body: String = "") async throws -> Bool {
    let answer = await simulator.control("POST", "/simulator/lives/\(life)/\(action)", body)
    guard answer.status == 200 || answer.status == 409 else {
      throw NeverHappened(description: "\(action): \(String(decoding: answer.body, as: UTF8.self))")
    }
    return answer.status == 200
  }

  /// Reads all lives at this instant.
  func lives() async throws -> [SimulatedLife] {
    struct Page: Decodable {
      let lives: [SimulatedLife]
    }
    let answer = await simulator.control("GET", "/simulator/lives?limit=1000")
    return try JSONDecoder().decode(Page.self, from: Data(answer.body)).lives
  }

  /// Lets Apple post to the first gateway, with faults as members of the control call.
  func postNotifications(_ faults: String = "") async throws {
    let body = "{\"urls\": [\"\(url("/apple/notifications"))\"]\(faults.isEmpty ? "" : ", " + faults)}"
    let answer = await simulator.control("PUT", "/simulator/notifications", body)
    guard answer.status == 200 else { throw NeverHappened(description: String(decoding: answer.body, as: UTF8.self)) }
  }

  /// How many notifications Apple has told so far, also the lost ones.
  func toldNotifications() async throws -> Int {
    struct Answer: Decodable {
      let counts: Counts

      struct Counts: Decodable {
        let told: Int
      }
    }
    let answer = await simulator.control("GET", "/simulator/notifications")
    return try JSONDecoder().decode(Answer.self, from: Data(answer.body)).counts.told
  }

  /// How many notifications of Apple's a publisher has, each applied.
  func appliedNotifications(of publisher: Int64 = RunningFleet.publisher) async throws -> Int {
    let client = PostgresClient(
      try PostgresEndpoint(url: TestServers.current!.ledgerURL(database: database), password: nil, caFile: nil),
      connections: 1)
    client.start()
    try await eventually("the ledger answers") { client.isReady }
    let rows = try await client.run(
      PostgresQuery(
        PostgresStatement(
          "count notifications",
          "SELECT count(*) FROM notifications WHERE publisher_id = $1 AND applied_at IS NOT NULL"),
        [.int64(publisher)]))
    await client.stop()
    return Int(rows.first?.int64(0) ?? 0)
  }

  /// Reads a purchase in production; `nil` for any answer but 200.
  func told(_ life: String) async throws -> ToldPurchase? {
    let answer = try await send("GET", url("/purchases/\(life)?environment=Production"), headers(Self.publisher))
    return answer.status == 200 ? try JSONDecoder().decode(ToldPurchase.self, from: Data(answer.body)) : nil
  }
}
