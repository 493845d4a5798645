import Domain
import EventLoop
import Ledger
import RoleSupport
import TestSupport
import Testing

@testable import Service
@testable import Worker

/// Which imports a worker takes, by value.
@LoopActor
struct ImportRunsTests {
  private let bench: ChoreBench
  private let ledger = ImportsByValue()

  init() throws { bench = try ChoreBench() }

  /// The due imports, and the runs of the taken ones.
  @LoopActor
  private final class ImportsByValue {
    struct Away: Error {}

    var due: [UploadedImport] = []
    var isAway = false
    var isRefused = false
    var isReady = true
    /// The publishers of each question.
    var asked: [[PublisherId]] = []
    /// The names of the runs.
    var names: [String] = []
    var runs: [RunByValue] = []
    /// Called before an answer.
    var beforeAnswer: @LoopActor () -> Void = {}

    func take(_ publishers: [PublisherId], _ name: String) throws -> UploadedImport? {
      asked.append(publishers)
      names.append(name)
      beforeAnswer()
      if isAway { throw Away() }
      return due.isEmpty ? nil : due.removeFirst()
    }

    func make(_ one: UploadedImport) throws -> RunByValue {
      if isRefused { throw Away() }
      let run = RunByValue(one.id)
      runs.append(run)
      return run
    }
  }

  /// A run that goes on until somebody ends it.
  @LoopActor
  private final class RunByValue: TakenImport {
    let id: ImportId
    private(set) var isClosed = false
    private let ended = LoopSignal()
    private var ending: UploadedImportRun.Ending?

    init(_ id: ImportId) { self.id = id }

    func run() async -> UploadedImportRun.Ending {
      if ending == nil { await ended.wait(atMost: .patience) }
      return ending ?? .unfinished
    }

    func end(_ ending: UploadedImportRun.Ending) {
      self.ending = ending
      ended.notify()
    }

    func close() {
      isClosed = true
      end(.yielded)
    }
  }

  private func due(_ numbers: Int..., of publisher: PublisherId = 7) -> [UploadedImport] {
    numbers.map {
      UploadedImport(
        id: ImportId("imp_\($0)"), publisherId: publisher, wish: UploadedImport.Wish(preset: .plain), createdAt: 1)
    }
  }

  private func runs() -> ImportRuns {
    ImportRuns(
      ImportRuns.Dependencies(
        context: bench.context, takeDue: { [ledger] in try ledger.take($0, $1) },
        make: { [ledger] one, _, _ in try ledger.make(one) }, isReady: { [ledger] in ledger.isReady }))
  }

  private func ended(_ ending: String) -> Bool {
    bench.counts(#"countersign_import_runs_total{outcome="\#(ending)"} 1"#)
  }

  @Test func `a worker takes as many imports as it has places, and the next when one is free`() async throws {
    ledger.due = due(1, 2, 3, 4)
    let runs = runs()
    await runs.take()
    #expect(ledger.runs.map(\.id) == ["imp_1", "imp_2"] && ledger.due.count == 2)
    #expect(ImportRuns.mostAtOnce == 2 && bench.counts("countersign_imports_running 2"))
    // Without a free place nobody asks.
    await runs.take()
    #expect(ledger.asked == [[7], [7]])
    // Each run has a name of its own, because the ledger knows runs by their names.
    #expect(Set(ledger.names).count == 2 && ledger.names.allSatisfy { $0.utf8.count == 32 })
    ledger.runs[0].end(.finished)
    try await eventually("the run has ended") { ended("finished") && bench.counts("countersign_imports_running 1") }
    await runs.take()
    #expect(ledger.runs.map(\.id) == ["imp_1", "imp_2", "imp_3"])
    await runs.stop(within: .seconds(120))
  }

  @Test func `nothing is due`() async throws {
    let runs = runs()
    await runs.take()
    #expect(ledger.asked.count == 1 && ledger.runs.isEmpty)
    await runs.stop(within: .seconds(120))
  }

  @Test func `a role that stops closes its runs, and takes no import`() async throws {
    ledger.due = due(1, 2)
    let runs = runs()
    await runs.take()
    ledger.due = due(3)
    await runs.stop(within: .seconds(120))
    #expect(ledger.runs.allSatisfy { $0.isClosed })
    #expect(bench.counts(#"countersign_import_runs_total{outcome="yielded"} 2"#))
    await runs.take()
    #expect(ledger.runs.count == 2 && ledger.due.count == 1)
  }

  @Test func `an import that is taken while the role stops is left to the next worker`() async throws {
    ledger.due = due(1)
    let runs = runs()
    ledger.beforeAnswer = { runs.close() }
    await runs.take()
    // Its lease ends by itself.
    #expect(ledger.due.isEmpty && ledger.runs.isEmpty)
    await runs.stop(within: .seconds(120))
  }

  @Test func `an import whose publisher is gone is not run`() async throws {
    ledger.due = due(1, of: 8) + due(2)
    let runs = runs()
    await runs.take()
    #expect(ledger.runs.isEmpty)
    // It is not due again for a while, and does not keep others away.
    await runs.take()
    #expect(ledger.runs.map(\.id) == ["imp_2"])
    await runs.stop(within: .seconds(120))
  }

  @Test func `a ledger that is away, and a run that cannot be made, leave the rest to the next look`() async throws {
    ledger.due = due(1, 2)
    ledger.isAway = true
    let runs = runs()
    await runs.take()
    #expect(ledger.runs.isEmpty && ledger.due.count == 2)
    (ledger.isAway, ledger.isRefused) = (false, true)
    await runs.take()
    #expect(ledger.runs.isEmpty && ledger.due.count == 1)
    ledger.isRefused = false
    await runs.take()
    #expect(ledger.runs.map(\.id) == ["imp_2"])
    await runs.stop(within: .seconds(120))
  }
}
