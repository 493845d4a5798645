import Domain
import EventLoop
import Formats
import RoleSupport
import Testing

@testable import AppStore
@testable import Ledger
@testable import Service
@testable import Worker

/// The notifications that a worker applies: from a reading, or found by a sweep.
@LoopActor
struct NotificationRunsTests {
  private final class LedgerByValue: NotificationLedger {
    var texts: [NotificationKey: String] = [:]
    var overdue: [NotificationKey] = []
    var putOff: [NotificationKey] = []
    var aside: [NotificationKey] = []
    var isAway = false

    func open(_ keys: [NotificationKey]) async throws -> [NotificationKey: KeptNotification.Open] {
      if isAway { throw AppleByValue.Lost() }
      return texts.filter { keys.contains($0.key) }.mapValues { KeptNotification.Open(text: $0, source: .apple) }
    }
    func putOff(_ keys: [NotificationKey]) async throws { putOff += keys }
    func finish(
      _ keys: [NotificationKey], telling notices: [NotificationNotice], audience: EventAudience, now: Int64,
      traceparent: String?
    ) async throws -> NotificationStore.Finished { NotificationStore.Finished(stored: keys.count) }
    func takeOverdue(of publisherIds: [PublisherId], limit: Int) async throws -> [NotificationKey] {
      if isAway { throw AppleByValue.Lost() }
      defer { overdue = [] }
      return overdue
    }
    func putAside(_ reasons: [NotificationUUID: String], of publisherIds: [PublisherId]) async throws
      -> [NotificationKey]
    {
      let open = texts.keys.filter { reasons[$0.uuid] != nil && publisherIds.contains($0.publisherId) }
      aside += open
      return open
    }
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func key(_ id: NotificationUUID, of publisher: PublisherId = 7) -> NotificationKey {
    NotificationKey(publisherId: publisher, uuid: id)
  }

  private func runs() throws -> NotificationRuns {
    NotificationRuns(
      NotificationRuns.Dependencies(
        context: bench.context, ledger: ledger, apply: { _ in Told([]) }, publish: { [bench] in bench.publish($0) },
        hint: { _, _, _ in }, verifier: try bench.apple.authority.verifier(), suspects: bench.suspects,
        begun: bench.counts, onRefund: {}, isReady: { true }))
  }

  /// Lets a sweep find what is overdue, and waits until that is done.
  private func sweep(_ keys: NotificationKey...) async throws {
    ledger.overdue = keys
    let runs = try runs()
    await runs.sweep()
    // The work begins at the end of the turn. What a reading brings comes behind it.
    await runs.take([key("after")])
    await runs.stop(within: .seconds(120))
  }

  @Test func `what cannot be judged here is put off`() async throws {
    ledger.texts = [key("a"): "no notification"]
    try await sweep(key("a"))
    #expect(ledger.putOff == [key("a")])
    #expect(bench.counts(#"countersign_notifications_applied_total{outcome="refused"} 1"#))
    #expect(bench.counts.begun.isEmpty)
  }

  @Test func `what seems to kill its worker is put aside`() async throws {
    bench.counts.begun["notification:a"] = Suspects.givenUpFrom
    ledger.texts = [key("a"): "x", key("b"): "y"]
    try await sweep(key("a"), key("b"))
    #expect(ledger.aside == [key("a")])
    #expect(ledger.putOff == [key("b")])
    #expect(bench.counts("countersign_notifications_put_aside_total 1"))
    #expect(bench.counts.begun.isEmpty)
  }

  @Test func `a notification that several publishers have dies as one, and is put aside for all of them`() async throws
  {
    // Only the other publisher's copy has killed workers, and only that copy is overdue.
    bench.counts.begun["notification:a"] = Suspects.givenUpFrom
    ledger.texts = [key("a"): "x", key("a", of: 8): "x"]
    try await sweep(key("a", of: 8))
    #expect(Set(ledger.aside) == [key("a"), key("a", of: 8)])
    #expect(bench.counts("countersign_notifications_put_aside_total 2"))
  }

  @Test func `a run with the copies of two publishers is one run`() async throws {
    ledger.texts = [key("a"): "no notification", key("a", of: 8): "no notification"]
    try await sweep(key("a"), key("a", of: 8))
    #expect(bench.counts.begins == [["notification:a"]])
  }

  @Test func `without Redis nobody could count what comes again, so nothing is swept`() async throws {
    bench.counts.isReady = false
    try await sweep(key("a"))
    #expect(ledger.overdue == [key("a")])
  }

  @Test func `a ledger that is away leaves everything to the next sweep`() async throws {
    ledger.isAway = true
    try await sweep(key("a"))
    #expect(ledger.putOff.isEmpty && ledger.aside.isEmpty)
  }

  @Test func `a stop waits also for what came in its own turn`() async throws {
    ledger.texts = [key("a"): "no notification"]
    ledger.overdue = [key("a")]
    let runs = try runs()
    await runs.sweep()
    await runs.stop(within: .seconds(120))
    #expect(ledger.putOff == [key("a")])
  }

  @Test func `after the close nothing more is taken, and nobody waits for it`() async throws {
    let runs = try runs()
    runs.close()
    await runs.take([key("a")])
    ledger.overdue = [key("a")]
    await runs.sweep()
    #expect(ledger.overdue == [key("a")])
    await runs.stop(within: .zero)
  }
}
