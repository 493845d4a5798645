import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import JSON
import Ledger
import Postgres
import ServerSupport
import Testing

/// What a caller can make the ledger keep by asking again and again.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct EvidenceGrowthTests {
  private static let dates =
    "SELECT ((extract(epoch FROM signed_date) * 1000)::bigint - \(CommitLab.now))::text "
    + "FROM evidence ORDER BY signed_date"

  private func piece(signed: Double, expires: Double = -0.5, revoked: Double? = nil) throws -> Evidence {
    try CommitLab.evidence(
      "100", of: "100", "monthly", .autoRenewable, bought: -31, expires: expires, revoked: revoked, signed: signed)
  }

  private func register(_ id: String, _ pieces: [Evidence], at lab: CommitLab) async throws -> Finalized {
    try await lab.workers[0].finalize(
      FinalizationRequest(
        CommitLab.job(id, "me", "100"), .evidence(CommitLab.key("100"), pieces), publisher: CommitLab.publisher))
  }

  @Test func `an expired purchase that is registered again and again keeps two pieces`() async throws {
    try await CommitLab.with { lab in
      for number in 0..<30 {
        let done = try await register("s\(number)", [try piece(signed: Double(number) / 100)], at: lab)
        #expect(done.code == .receivedExpiredPurchase && done.version == Int64(number) + 1)
        #expect(try await lab.number("SELECT count(*) FROM evidence") <= 2)
      }
      let kept = try await lab.texts(Self.dates)
      #expect(kept.last == String(Int64(0.29 * 86_400_000)), "the newest one counts")
      #expect(try await lab.differences() == [])
      // So do looks by a timer, and late pieces, which change nothing.
      for signed in [0.5, 0.1, 0.6, 0.05] {
        _ = try await lab.workers[0].apply(
          PurchaseUpdate(
            CommitLab.key("100"), [try piece(signed: signed)], from: .timer(.told), publisher: CommitLab.publisher))
      }
      #expect(try await lab.number("SELECT count(*) FROM evidence") <= 2)
      #expect(try await lab.texts(Self.dates).last == String(Int64(0.6 * 86_400_000)))
      #expect(try await lab.differences() == [])
    }
  }

  @Test func `whatever Apple has said stays, in whichever order it comes`() async throws {
    let signed = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]
    for seed in UInt64(1)...8 {
      try await CommitLab.with { lab in
        var random = SeededRandom(seed: seed)
        // Apple refunds it between the third and the fifth date, and takes the refund back.
        let pieces = try signed.enumerated().map { number, date in
          try piece(signed: date, revoked: (2...3).contains(number) ? -1 : nil)
        }
        for (number, piece) in pieces.shuffled(using: &random).enumerated() {
          _ = try await register("s\(number)", [piece], at: lab)
        }
        #expect(try await lab.number("SELECT count(DISTINCT content_sha256) FROM evidence") == 2, "seed \(seed)")
        let rows = try await lab.number("SELECT count(*) FROM evidence")
        #expect((2...4).contains(rows), "seed \(seed): \(rows)")
        #expect(try await lab.texts(Self.dates).last == String(Int64(0.06 * 86_400_000)))
        #expect(try await lab.differences() == [], "seed \(seed)")
      }
    }
  }

  @Test func `the newest status beside a renewal info stays, although Apple signed without one since`() async throws {
    try await CommitLab.with { lab in
      _ = try await register("s", [try piece(signed: 0, expires: 30)], at: lab)
      func renewal(_ number: Int64, _ status: Int32?) throws -> Evidence {
        let payload = JSONWriter.object { writer in
          writer.member("environment", "Production")
          writer.member("originalTransactionId", "100")
          writer.member("signedDate", CommitLab.now + number)
        }
        let facts = try RenewalFacts(
          JSONText(payload).decoded(as: RenewalInfoPayload.self), payloadSHA256: SHA256.hash(payload))
        return Evidence(
          .renewalInfo(facts, status: status.map { ReportedStatus(code: $0, date: facts.signedDate) }),
          source: .serverAPI, signedHeader: [1], payload: payload, signature: [3])
      }
      let statuses: [Int32?] = [1, nil, 5, nil, nil, nil, 2, nil, 5, nil, nil]
      for (number, status) in statuses.enumerated() {
        _ = try await register("s\(number)", [try renewal(Int64(number), status)], at: lab)
        #expect(try await lab.differences() == [], "\(number)")
      }
      let kept = "SELECT count(*) FROM evidence WHERE kind = 'renewalInfo'"
      #expect(try await lab.number(kept) <= 3)
      let last = "SELECT status::bigint FROM evidence WHERE status IS NOT NULL ORDER BY signed_date DESC LIMIT 1"
      #expect(try await lab.number(last) == 5)
    }
  }

  @Test func `a piece of an earlier version stays`() async throws {
    try await CommitLab.with { lab in
      _ = try await register("s1", [try piece(signed: 0.01)], at: lab)
      try await lab.clients[0].run("UPDATE evidence SET content_sha256 = NULL")
      for number in 2..<8 { _ = try await register("s\(number)", [try piece(signed: Double(number) / 100)], at: lab) }
      #expect(try await lab.number("SELECT count(*) FROM evidence WHERE content_sha256 IS NULL") == 1)
      #expect(try await lab.number("SELECT count(*) FROM evidence") <= 3)
      #expect(try await lab.differences() == [])
    }
  }
}
