import Domain
import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// Imports over HTTP in the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct ImportStoreTests {
  private nonisolated static func new(
    _ number: Int = 1, of publisher: PublisherId = 7, at time: Int64 = 1000
  ) -> UploadedImport {
    UploadedImport(
      id: ImportId(random: Array(repeating: UInt8(number), count: 16)), publisherId: publisher,
      wish: UploadedImport.Wish(preset: .plain), token: "shop", createdAt: time)
  }

  private let one = new()

  private func started(_ ledger: PostgresClient, _ new: UploadedImport, _ file: String = "abc") async throws {
    let store = ImportStore(ledger)
    #expect(try await store.create(new) == .enough)
    _ = try await store.append(Array(file.utf8), at: 0, to: new.id, new.publisherId, now: 2000)
    _ = try await store.take(.started, of: new.id, new.publisherId) { one throws(ImportStepRefusal) in
      try one.start(by: "shop", now: 3000)
    }
  }

  private func refusal(_ body: @LoopActor () async throws -> Void) async -> ImportStepRefusal? {
    do {
      try await body()
      return nil
    } catch {
      return error as? ImportStepRefusal
    }
  }

  @Test func `parts follow each other, also two at once`() async throws {
    try await LedgerDatabase.migrated { ledger in try await checkParts(ledger) }
  }

  private func checkParts(_ ledger: PostgresClient) async throws {
    let (store, parts, id) = (ImportStore(ledger), ImportParts(ledger), Self.new().id)
    #expect(try await store.create(Self.new()) == .enough)
    #expect(try await store.append([1, 2, 3], at: 0, to: id, 7, now: 2)?.bytes == 3)
    for offset in [Int64(0), 2, 4] {
      let wrong = await refusal { _ = try await store.append([9], at: offset, to: id, 7, now: 3) }
      #expect(wrong == .offset(expected: 3))
    }
    // Of two at once, one wins, and the other one learns where to go on.
    async let one = refusal { _ = try await store.append([4, 4], at: 3, to: id, 7, now: 4) }
    async let other = refusal { _ = try await store.append([5, 5], at: 3, to: id, 7, now: 4) }
    let both = await [one, other]
    #expect(both.count { $0 == nil } == 1 && both.contains(.offset(expected: 5)))
    #expect(try await store.read(7, id)?.bytes == 5)
    #expect(try await store.read(7, id)?.parts == 2)
    // Nobody else's, and no other id.
    #expect(try await store.append([1], at: 0, to: id, 8, now: 5) == nil)
    #expect(try await store.read(8, id) == nil)

    #expect(try await parts.bytes(.file, of: id, 7, at: 0, most: 2) == [1, 2])
    #expect(try await parts.bytes(.file, of: id, 7, at: 1, most: 10) == [2, 3])
    #expect(try await parts.bytes(.file, of: id, 7, at: 3, most: 10)?.count == 2)
    for place in [Int64(5), 6, .max] { #expect(try await parts.bytes(.file, of: id, 7, at: place, most: 10) == nil) }
    #expect(try await parts.bytes(.report, of: id, 7, at: 0, most: 10) == nil)
  }

  @Test func `a publisher has few open imports, in a list with the newest first`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let store = ImportStore(ledger)
      for number in 1...UploadedImport.mostOpen {
        #expect(try await store.create(Self.new(number, at: Int64(1000 * number))) == .enough)
      }
      #expect(try await store.create(Self.new(9)) == .tooManyOpen)
      #expect(try await store.create(Self.new(9, of: 8)) == .enough)
      let list = try await store.list(7, limit: 10)
      #expect(list.map(\.createdAt) == [3000, 2000, 1000])
      let rest = try await store.list(7, after: ImportStore.Place(createdAt: 3000, id: list[0].id), limit: 1)
      #expect(rest.map(\.createdAt) == [2000])
      #expect(try await store.delete(list[0].id, 7))
      #expect(try await !store.delete(list[0].id, 7))
      #expect(try await store.create(Self.new(9)) == .enough)
      let actions = try await ledger.texts("SELECT action FROM audit WHERE publisher_id = 7 ORDER BY id")
      #expect(actions == ["import.created", "import.created", "import.created", "import.deleted", "import.created"])
    }
  }

  @Test func `one run has an import, and another one takes over behind its lease`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let (store, work) = (ImportStore(ledger), ImportWork(ledger))
      #expect(try await work.takeDue(of: [7], as: "first") == nil)
      try await started(ledger, one)
      try await started(ledger, Self.new(2, at: 2000))
      #expect(try await work.takeDue(of: [8], as: "first") == nil)
      let taken = try #require(try await work.takeDue(of: [7, 8], as: "first"))
      #expect(taken.worker == "first" && taken.state == .running)
      // One import of a publisher registers at a time, but another one may be checked.
      #expect(try await work.takeDue(of: [7], as: "second") == nil)
      let checked = Self.new(3, at: 3000)
      #expect(try await store.create(checked) == .enough)
      _ = try await store.append([1], at: 0, to: checked.id, 7, now: 1)
      _ = try await store.take(.checked, of: checked.id, 7) { one throws(ImportStepRefusal) in
        try one.check(by: nil, now: 1)
      }
      #expect(try await work.takeDue(of: [7], as: "checker")?.id == checked.id)

      var progress = UploadedImport.Progress()
      (progress.rows, progress.done, progress.earlier, progress.rowsPerMinute) = (10, 4, 1, 60)
      // The other import of the publisher is due, but this run keeps others from it.
      let kept = try await work.keep(taken, as: "first", progress, of: [7, 8])
      #expect(kept == ImportWork.Kept(state: .running, othersWait: false))
      progress.earlier = 4
      try await started(ledger, Self.new(4, of: 8))
      // Nobody here has the other publisher's file.
      #expect(try await work.keep(taken, as: "first", progress, of: [7]).othersWait == false)
      #expect(try await work.keep(taken, as: "first", progress, of: [7, 8]).othersWait)
      #expect(try await store.read(7, taken.id)?.progress.earlier == 1)
      try await work.beginReport(of: taken, as: "first")

      // The first run stands still, and its lease ends.
      try await ledger.execute("UPDATE imports SET due_at = now() - interval '1 second' WHERE worker = 'first'")
      let other = try #require(try await work.takeDue(of: [7], as: "second"))
      #expect(other.id == taken.id || other.state == .running)
      if other.id != taken.id {
        try await work.release(other, as: "second", after: .seconds(60))
        #expect(try await work.takeDue(of: [7], as: "second")?.id == taken.id)
      }
      // From now on the first one can write nothing.
      await #expect(throws: ImportWork.Lost.self) { _ = try await work.keep(taken, as: "first", progress, of: [7]) }
      await #expect(throws: ImportWork.Lost.self) { try await work.beginReport(of: taken, as: "first") }
      await #expect(throws: ImportWork.Lost.self) {
        try await work.addReport(of: taken, as: "first", at: 0, [1])
      }
      await #expect(throws: ImportWork.Lost.self) {
        try await work.note(taken, as: "first", .finished, now: 5) { _ in }
      }
      try await work.beginReport(of: taken, as: "second")
      try await work.addReport(of: taken, as: "second", at: 0, [1, 2])
      let ended = try await work.note(taken, as: "second", .finished, now: 5) { $0.summary = Array("{}".utf8) }
      #expect(ended.state == .finished && ended.hasReport)
      // The file went, and the report stays.
      #expect(
        try await ledger.texts("SELECT kind FROM import_parts WHERE import_id = '\(taken.id)'") == ["report"])
      let entry = try await ledger.texts("SELECT actor FROM audit WHERE action = 'import.finished'")
      #expect(entry == ["publisher:shop"])
    }
  }

  @Test func `a cancelled run sees it, and one without a worker is taken`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let (store, work) = (ImportStore(ledger), ImportWork(ledger))
      try await started(ledger, one)
      let taken = try #require(try await work.takeDue(of: [7], as: "w"))
      func cancel() async throws -> UploadedImport? {
        try await store.take(.cancelled, of: one.id, 7) { one throws(ImportStepRefusal) in try one.cancel(now: 9) }
      }
      #expect(try await cancel()?.state == .cancelling)
      #expect(try await cancel()?.state == .cancelling)
      #expect(try await work.keep(taken, as: "w", taken.progress, of: [7]).state == .cancelling)
      let deletion = await refusal { _ = try await store.delete(one.id, 7) }
      #expect(deletion == .state(.cancelling))
      try await work.release(taken, as: "w")
      let next = try #require(try await work.takeDue(of: [7], as: "x"))
      #expect(next.state == .cancelling)
      _ = try await work.note(next, as: "x", .cancelled, now: 9) { $0.summary = Array("{}".utf8) }
      // It keeps its file, so that a start goes on.
      #expect(try await ledger.texts("SELECT count(*)::text FROM import_parts") == ["1"])
      #expect(
        try await ledger.texts("SELECT action FROM audit ORDER BY id")
          == ["import.created", "import.started", "import.cancelled"])
      // A check that was cancelled is nobody's.
      _ = try await store.take(.checked, of: one.id, 7) { one throws(ImportStepRefusal) in
        try one.check(by: nil, now: 10)
      }
      let checking = try #require(try await work.takeDue(of: [7], as: "y"))
      #expect(try await cancel()?.state == .cancelled)
      await #expect(throws: ImportWork.Lost.self) {
        try await work.note(checking, as: "y", .checked, now: 11) { _ in }
      }
    }
  }

  @Test func `a publisher has few imports, with finished ones`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let store = ImportStore(ledger)
      for number in 1...UploadedImport.mostKept {
        #expect(try await store.create(Self.new(number)) == .enough)
        try await ledger.execute("UPDATE imports SET state = 'finished'")
      }
      #expect(try await store.create(Self.new(99)) == .tooManyKept)
      #expect(try await store.create(Self.new(99, of: 8)) == .enough)
      #expect(try await store.delete(Self.new(1).id, 7))
      #expect(try await store.create(Self.new(99)) == .enough)
    }
  }

  @Test func `an import that waits does not grow old`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await started(ledger, one)
      let work = ImportWork(ledger)
      let taken = try #require(try await work.takeDue(of: [7], as: "w"))
      try await ledger.execute("UPDATE imports SET changed_at = now() - interval '8 days'")
      try await work.release(taken, as: "w", after: .seconds(30))
      #expect(try await Retention(ledger).deleteImports(after: UploadedImport.retention, limit: 10) == 0)
    }
  }

  @Test func `an import with a preset of another version can be read`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await started(ledger, one)
      try await ledger.execute("UPDATE imports SET preset = 'later'")
      #expect(try await ImportStore(ledger).read(7, one.id)?.wish.preset == ImportPresetName(rawValue: "later"))
      #expect(try await ImportWork(ledger).takeDue(of: [7], as: "w")?.wish.preset.rawValue == "later")
    }
  }

  @Test func `old imports go with their files and reports`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let store = ImportStore(ledger)
      try await started(ledger, one)
      try await started(ledger, Self.new(2, of: 8))
      try await ledger.execute("UPDATE imports SET changed_at = now()")
      #expect(try await Retention(ledger).deleteImports(after: UploadedImport.retention, limit: 10) == 0)
      try await ledger.execute("UPDATE imports SET changed_at = now() - interval '8 days' WHERE publisher_id = 7")
      #expect(try await Retention(ledger).deleteImports(after: UploadedImport.retention, limit: 10) == 1)
      #expect(try await store.read(7, one.id) == nil)
      #expect(try await ledger.texts("SELECT publisher_id::text FROM import_parts") == ["8"])
    }
  }
}
