import Domain
import EventLoop
import Ledger
import Observability
import Redis
import RoleSupport
import Service

@testable import AppStore
@testable import Worker

/// What the chores of a worker work with, by value: Apple, the counts of runs, and the context of a role.
@LoopActor
final class ChoreBench {
  let apple: AppleByValue
  let context: RoleContext
  let counts = CountsByValue()
  let publisher: Publisher
  let suspects = Suspects()
  private(set) var published: [String] = []

  init() throws {
    let apple = try AppleByValue()
    self.apple = apple
    publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [apple.app()],
      offers: OfferCatalog([Offer(id: "O", productIds: ["monthly"])]), webhooks: [])
    context = RoleContext(
      role: "worker",
      settings: try ConfigurationFolder().settings(
        #"{"worker": {"timerConcurrency": 8, "historyIntervalSeconds": 3600}, "log": {"level": "error"}}"#),
      publishers: Publishers([publisher]), doors: DoorCatalog([]))
  }

  var rows: SuspectRows { SuspectRows(suspects, counts, context) }
  func places(_ publisher: Publisher) -> [AppPlace] { AppPlace.all(of: publisher, budgetScale: 1) }
  func publish(_ told: consuming Told) { published += told.takeEvents().map(\.id.text) }

  static func event(_ id: EventId) -> Event {
    Event(id: id, publisherId: 7, customerId: "42", topic: "t", time: 1, body: [])
  }

  /// Whether the metrics of the role have a line.
  func counts(_ line: String) -> Bool { context.metrics.text().contains(line + "\n") }
}

/// How many runs have begun and not ended, without Redis.
@LoopActor
final class CountsByValue: RunCounts {
  var isReady = true
  var begun: [String: Int] = [:]
  /// The names of each call that noted runs.
  private(set) var begins: [[String]] = []
  var failure: RedisError?

  func counts(_ names: [String]) async throws -> [Int] {
    if let failure { throw failure }
    return names.map { begun[$0, default: 0] }
  }
  func begin(_ names: [String]) async throws {
    if let failure { throw failure }
    begins.append(names)
    for name in names { begun[name, default: 0] += 1 }
  }
  func end(_ names: [String]) async throws {
    if let failure { throw failure }
    for name in names { begun[name] = nil }
  }
}
