public import Domain
import EventLoop
import Formats
import FoundationEssentials
import HTTP
import Postgres
import Simulator
import TestSupport

extension RunningFleet {
  /// Begins lives, one for each line.
  public func begin(lives lines: [String]) async throws {
    try await control("PUT", "lives", lines.joined(separator: "\n"), expecting: 201)
  }

  /// Lets something happen to a life; false if it does not fit the life's state.
  @discardableResult
  public func act(_ action: String, on life: String, _ body: String = "") async throws -> Bool {
    let answer = await simulator.control("POST", "/simulator/lives/\(life)/\(action)", body)
    guard answer.status == 200 || answer.status == 409 else {
      throw NeverHappened(description: "\(action): \(String(decoding: answer.body, as: UTF8.self))")
    }
    return answer.status == 200
  }

  /// Lets something random happen to a life; false if it does not fit the life's state.
  ///
  /// A simulated renewal by hand begins at once, and the running period goes on beside it. Two periods of Apple's never
  /// overlap. After a refund of the new one, what Apple has signed about the old one would give access, so no running
  /// period is renewed by hand.
  @discardableResult
  public func act(_ action: RandomLives.Action, on life: String) async throws -> Bool {
    if action.name.isExactly("renew"), try await self.life(life).state.isExactly("active") { return false }
    return try await act(action.name, on: life, action.body)
  }

  /// Keeps everything from happening by itself, so that the ledger can be compared with the lives.
  public func holdTime() async throws { try await control("PUT", "time", "{\"held\": true}") }

  /// Reads all lives, page by page.
  public func lives() async throws -> [SimulatedLife] {
    struct Page: Decodable {
      let lives: [SimulatedLife]
      let next: String?
    }
    var (lives, after): ([SimulatedLife], String?) = ([], nil)
    repeat {
      let place = after.map { "&after=\($0)" } ?? ""
      let page: Page = try decoded(try await control("GET", "lives?limit=200\(place)"))
      lives += page.lives
      after = page.next
      // The simulator lives on this loop, too.
      await Task.yield()
    } while after != nil
    return lives
  }

  /// Reads a life at this instant.
  public func life(_ id: String) async throws -> SimulatedLife { try decoded(try await control("GET", "lives/\(id)")) }

  /// Lets Apple post to the first gateway, with faults as members of the control call.
  public func postNotifications(_ faults: String = "") async throws {
    let body = "{\"urls\": [\"\(url("/apple/notifications"))\"]\(faults.isEmpty ? "" : ", " + faults)}"
    try await control("PUT", "notifications", body)
  }

  /// What became of Apple's notifications so far.
  public struct NotificationCounts: Codable, Sendable {
    /// All of them, also the lost ones.
    public let told: Int
    public let lost: Int
    public let delayed: Int
    public let repeated: Int
  }

  /// Counts Apple's notifications.
  public func notificationCounts() async throws -> NotificationCounts {
    struct Answer: Decodable {
      let counts: NotificationCounts
    }
    let answer: Answer = try decoded(try await control("GET", "notifications"))
    return answer.counts
  }

  /// How many notifications Apple has told so far, also the lost ones.
  public func toldNotifications() async throws -> Int { try await notificationCounts().told }

  /// How many notifications of Apple's the first publisher has, each applied.
  public func appliedNotifications(of publisher: PublisherId = RunningFleet.publisher) async throws -> Int {
    try await withLedger { client in
      let rows = try await client.run(
        PostgresQuery(
          PostgresStatement(
            "count notifications",
            "SELECT count(*) AS count FROM notifications WHERE publisher_id = $1 AND applied_at IS NOT NULL"),
          [.int64(publisher.number)]))
      return Int(try rows.first?.int64("count") ?? 0)
    }
  }

  /// Returns what the simulator and the ledger hold of a life, for who looks for the cause of a difference.
  public func traces(of life: String) async throws -> String {
    let truth = String(decoding: try await control("GET", "lives/\(life)"), as: UTF8.self)
    let kept = try await withLedger { client in
      let rows = try await client.run(
        PostgresQuery(
          PostgresStatement(
            "read the traces of a life",
            """
            SELECT to_jsonb(t)::text AS row FROM transactions t WHERE original_transaction_id = $1
            UNION ALL SELECT (to_jsonb(n) - 'body' - 'posted')::text FROM notifications n
              WHERE original_transaction_id = $1
            UNION ALL SELECT (to_jsonb(p))::text FROM purchases p WHERE original_transaction_id = $1
            UNION ALL SELECT to_jsonb(s)::text FROM notification_sources s
            """),
          [.text(life)]))
      return try rows.compactMap { try $0.text("row") }
    }
    return ([truth] + kept).joined(separator: "\n")
  }

  /// Reads a purchase in production; `nil` for any answer but 200.
  public func told(_ life: String) async throws -> ToldPurchase? {
    let answer = try await send("GET", url("/purchases/\(life)?environment=Production"), headers(Self.publisher))
    return answer.status == 200 ? try decoded(answer.body) : nil
  }

  @discardableResult
  private func control(
    _ method: String, _ path: String, _ body: String = "", expecting status: Int = 200
  ) async throws -> [UInt8] {
    let answer = await simulator.control(method, "/simulator/\(path)", body)
    guard answer.status == status else {
      throw NeverHappened(description: "\(path): \(String(decoding: answer.body.prefix(500), as: UTF8.self))")
    }
    return answer.body
  }

  private func decoded<Value: Decodable>(_ body: [UInt8]) throws -> Value {
    try JSONDecoder().decode(Value.self, from: Data(body))
  }
}
