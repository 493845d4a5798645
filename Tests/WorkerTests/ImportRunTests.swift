import Coordination
import Domain
import EventLoop
import Import
import Ledger
import TestSupport
import Testing

@testable import Worker

/// The engine of imports, by value.
@LoopActor
struct ImportRunTests {
  /// The servers: what is claimed is finalized at once, unless they hold it.
  @LoopActor
  private final class Servers {
    var registered: [Job] = []
    var finalized: Set<SynchronizationId> = []
    var failures = 0
    var holds = false
    var standing: @LoopActor (Servers) throws -> ImportRun.Standing = { _ in .ours }
    var told: [Int] = []
    var looks = 0

    struct Away: Error {}
    static let result = SynchronizationResult(.purchaseSynchronized, accessGranted: true)

    func finish() { finalized.formUnion(registered.map(\.synchronizationId)) }
  }

  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  private struct OneSignature: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] {
      guard case .transaction(let text) = text else { return [] }
      return [ImportSignedPurchase(first: TransactionId(text), transactions: [TransactionId(text)], isEnough: true)]
    }
  }

  /// Rows whose signed transactions are enough, and one without.
  private func signedRows(_ count: Int) -> ImportRows {
    var lines =
      (["customer_id,transaction_id,signed_transaction,verify"]
      + (0..<count).map { "c\($0),,\(1000 + $0),signature" } + ["d,1,,"])[...]
    return ImportFile(preset: .plain, verifier: OneSignature()) { lines.popFirst().map { Array($0.utf8) } }.rows
  }

  private func rows(_ count: Int) -> ImportRows {
    var lines = (["customer_id,transaction_id"] + (0..<count).map { "c\($0),\(1000 + $0)" })[...]
    return ImportFile(preset: .plain, verifier: NoSignatures()) { lines.popFirst().map { Array($0.utf8) } }.rows
  }

  private func run(
    _ servers: Servers, _ count: Int = 10, pace: Double = 1e6, over given: ImportRows? = nil,
    signed: String? = nil
  ) -> ImportRun {
    var dependencies = ImportRun.Dependencies(
      claim: { job in
        if servers.failures > 0 {
          servers.failures -= 1
          throw Servers.Away()
        }
        return .claimed
      },
      publish: { job in
        servers.registered.append(job)
        if !servers.holds { servers.finish() }
      }, prolong: { _ in },
      results: { ids in
        Dictionary(uniqueKeysWithValues: ids.filter(servers.finalized.contains).map { ($0, Servers.result) })
      })
    dependencies.standing = { try servers.standing(servers) }
    dependencies.tell = { servers.told.append($0) }
    dependencies.signedTransaction = { _ in signed }
    return ImportRun(
      given ?? rows(count), ImportRun.Wish(publisherId: 7, round: 1, tells: false, pace: pace), dependencies)
  }

  @Test func `each row is registered once, in silence and in bulk`() async throws {
    let servers = Servers()
    let run = run(servers)
    try await run.takeEarlier()
    #expect(run.earlier == 0)
    #expect(try await run.run() == .finished)
    #expect(servers.registered.count == 10 && Set(servers.registered.map(\.synchronizationId)).count == 10)
    #expect(servers.registered.allSatisfy { $0.lane == .bulk && $0.imported == .silent })
    #expect(servers.told.last == 10)
    // Another run finds everything done.
    let again = self.run(servers)
    try await again.takeEarlier()
    #expect(again.earlier == 10)
    #expect(try await again.run() == .finished)
    #expect(servers.registered.count == 10)
  }

  @Test func `a cancelled run stops registering, and waits for what it has registered`() async throws {
    let servers = Servers()
    servers.holds = true
    servers.standing = { servers in
      servers.looks += 1
      if servers.looks == 3 { servers.finish() }
      return servers.looks == 1 ? .ours : .cancelled
    }
    let run = run(servers, 1000, pace: 5)
    try await run.takeEarlier()
    #expect(try await run.run() == .cancelled)
    #expect(servers.looks >= 3 && (1...5).contains(servers.registered.count))
    #expect(Set(servers.registered.map(\.synchronizationId)) == servers.finalized)
  }

  @Test func `rows whose signatures are enough do not wait for Apple's budget`() async throws {
    // One call in a thousand seconds: the first row may ask at once, and the next one would wait for a long time.
    let servers = Servers()
    let run = run(servers, pace: 0.001, over: signedRows(50), signed: "jws")
    try await run.takeEarlier()
    servers.standing = { servers in
      servers.looks += 1
      return servers.registered.count > 50 || servers.looks > 3 ? .yields : .ours
    }
    _ = try await run.run()
    #expect(servers.registered.count == 51 && servers.registered.count { $0.signedTransaction == "jws" } == 50)

    // A text that is gone costs a call.
    let others = Servers()
    let gone = self.run(others, pace: 0.001, over: signedRows(50))
    try await gone.takeEarlier()
    others.standing = { servers in
      servers.looks += 1
      return servers.looks > 2 ? .yields : .ours
    }
    #expect(try await gone.run() == .yielded)
    #expect(others.registered.count == 1)
  }

  @Test func `a run yields at once, and the next one goes on`() async throws {
    let servers = Servers()
    servers.standing = { $0.registered.isEmpty ? .ours : .yields }
    // A late first round registers all rows, and none of them may end the run.
    servers.holds = true
    let first = run(servers, 600)
    try await first.takeEarlier()
    #expect(try await first.run() == .yielded)
    let done = servers.registered.count
    #expect(done > 0)
    servers.standing = { _ in .ours }
    servers.holds = false
    servers.finish()
    let second = run(servers, 600)
    try await second.takeEarlier()
    #expect(second.earlier == done)
    #expect(try await second.run() == .finished)
    #expect(servers.registered.count == 600)
  }

  @Test func `a run that has lost its import ends`() async throws {
    let servers = Servers()
    servers.standing = { _ in throw ImportRun.Stopped(description: "lost") }
    let run = run(servers)
    try await run.takeEarlier()
    await #expect(throws: ImportRun.Stopped.self) { _ = try await run.run() }
    #expect(servers.registered.isEmpty)
  }

  @Test func `a failed server is asked again`() async throws {
    let servers = Servers()
    servers.failures = 1
    let run = run(servers, 3)
    try await run.takeEarlier()
    #expect(try await run.run() == .finished)
    #expect(servers.registered.count == 3)
  }

  // MARK: The lease

  /// What the ledger answers to a run that keeps its lease.
  @LoopActor
  private final class Lease {
    var kept: Result<ImportWork.Kept, any Error> = .failure(Servers.Away())
    var told: [Int64] = []
  }

  @Test func `a lease is kept, and tells of a cancellation and of its loss`() async throws {
    let lease = Lease()
    let time = Time()
    let hold = ImportHold(
      UploadedImport.Progress(), clock: { time.now },
      keep: { progress in
        lease.told.append(progress.done)
        return try lease.kept.get()
      })
    // A ledger that does not answer takes nothing away while the lease lasts.
    await hold.keepNow()
    #expect(try hold.standing() == .ours)
    hold.progress.done = 5
    lease.kept = .success(ImportWork.Kept(state: .running, othersWait: true))
    await hold.keepNow()
    // Others wait, but the run has had no turn yet.
    #expect(try hold.standing() == .ours)
    hold.isClosing = true
    #expect(try hold.standing() == .yields)
    lease.kept = .success(ImportWork.Kept(state: .cancelling, othersWait: false))
    await hold.keepNow()
    #expect(try hold.standing() == .cancelled)
    lease.kept = .failure(ImportWork.Lost())
    await hold.keepNow()
    #expect(hold.isLost && lease.told == [0, 5, 5, 5])
    #expect(throws: ImportRun.Stopped.self) { try hold.standing() }
  }

  @Test func `a turn begins with the first row, and what comes before does not count`() async throws {
    let time = Time()
    let hold = ImportHold(
      UploadedImport.Progress(), clock: { time.now },
      keep: { _ in ImportWork.Kept(state: .running, othersWait: time.othersWait) })
    func standing(after passed: Duration) async throws -> ImportRun.Standing {
      time.now += passed
      await hold.keepNow()
      return try hold.standing()
    }
    // Reading a long file takes an hour.
    #expect(try await standing(after: .seconds(3600)) == .ours)
    hold.note(done: 7)
    #expect(try await standing(after: ImportHold.turn) == .ours)
    #expect(try await standing(after: .seconds(1)) == .yields)
    time.othersWait = false
    #expect(try await standing(after: .seconds(1)) == .ours)
  }

  @LoopActor
  private final class Time {
    var now = ContinuousClock.now
    var othersWait = true
  }

  // MARK: The file

  private func fetch(_ text: String, _ most: Int) -> @LoopActor @Sendable (Int64) async throws -> [UInt8]? {
    let bytes = Array(text.utf8)
    return { place in
      guard place >= 0, place < bytes.count else { return nil }
      return Array(bytes[Int(place)...].prefix(most))
    }
  }

  @Test(arguments: [1, 7, 1000]) func `a file is read in parts on another thread`(size: Int) async throws {
    let text = "customer_id,transaction_id,offer\na,1,\"x\ny\"\nc,x,\nd,3,"
    let file = try await ImportFeed.read(
      .plain, NoSignatures(), ImportFile.Limits(), OfferCatalog([]), fetch: fetch(text, size))
    #expect(file.rows.map(\.claim.offerId?.text) == ["x\ny", nil] && file.rows.map(\.line) == [2, 5])
    #expect(file.problems.map(\.line) == [4])
  }

  @Test func `an error of the fetch ends the reading`() async throws {
    await #expect(throws: Servers.Away.self) {
      _ = try await ImportFeed.read(.plain, NoSignatures(), ImportFile.Limits(), OfferCatalog([])) { place in
        if place > 0 { throw Servers.Away() }
        return Array("customer_id,transaction_id\na,1\n".utf8)
      }
    }
  }

  @Test func `one JSON array of any length is a problem of the file, and not a failure`() async throws {
    let array = "[" + String(repeating: "{},", count: 3 << 20)
    let file = try await ImportFeed.read(
      .plain, NoSignatures(), ImportFile.Limits(), OfferCatalog([]), fetch: fetch(array, 1 << 20))
    #expect(file.problems.map(\.cause) == ["the file is one JSON array"] && file.rows.isEmpty)
  }

  @Test func `lines from a place on, without one that may be cut`() async throws {
    let fetch = fetch("first\nsecond\nthird", 4)
    #expect(try await UploadedLines(from: 6, fetch: fetch).lines(within: 8) == [Array("second".utf8)])
    #expect(
      try await UploadedLines(from: 6, fetch: fetch).lines(within: 100)
        == [Array("second".utf8), Array("third".utf8)])
    let lines = UploadedLines(fetch: fetch)
    var all: [String] = []
    while let line = try await lines.next() { all.append(String(decoding: line, as: UTF8.self)) }
    #expect(all == ["first", "second", "third"])
  }
}
