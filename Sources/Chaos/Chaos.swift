import EventLoop
import FoundationEssentials
import HTTPClient
import Simulator
import TestSupport

/// One run: a whole fleet under load, broken by a scenario, and the history of it.
@LoopActor
final class Chaos {
  /// How big a run is.
  struct Size {
    var registrations = 5000
    var transactions = 1000
    var perSecond = 250.0

    static let quick = Size(registrations: 300, transactions: 60, perSecond: 100)
  }

  static let gateways = ["gateway-1", "gateway-2"]
  static let workers = ["worker-1", "worker-2", "worker-3"]
  static let notifiers = ["notifier-1", "notifier-2"]
  static let roles = gateways + workers + notifiers

  let fleet: RunningFleet
  let size: Size
  /// For the faults; the load and the reading have their own, so that their timing does not change the sequence.
  var random: SeededRandom
  private var loadRandom: SeededRandom
  private var readRandom: SeededRandom
  private(set) var history = History()
  private var isLoading = false
  /// The gateways that a load balancer would use: one that was started anew is not there before it says that it is ready.
  private var usable = Set(gateways)
  private var statusReads: [Task<Void, Never>] = []
  private var webhooksRead = 0
  private var eventsRead = 0

  private init(_ fleet: RunningFleet, _ size: Size, seed: UInt64) {
    self.fleet = fleet
    self.size = size
    random = SeededRandom(seed: seed)
    loadRandom = SeededRandom(seed: seed ^ 0x10ad)
    readRandom = SeededRandom(seed: seed ^ 0x4ead)
  }

  /// Runs a scenario and returns what was seen.
  static func run(_ scenario: Scenario, size: Size, seed: UInt64) async throws -> History {
    var result = History()
    try await RunningFleet.with(
      roles, overrides: scenario.environment, throughProxies: scenario.needsNetwork,
      prepare: { fleet in
        // Its customers need not be put, so that a wiped Redis refuses nobody.
        try fleet.writePublisher(
          RunningFleet.openPublisher,
          """
          "customers": "open", "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
          "webhooks": [{"id": "main", "url": "\(fleet.webhookURL)", "secretFile": "../webhook.secret"}]
          """)
      },
      { fleet in
        let chaos = Chaos(fleet, size, seed: seed)
        try await chaos.run(scenario)
        result = chaos.history
      })
    return result
  }

  private func run(_ scenario: Scenario) async throws {
    fleet.simulator.onCall = { [unowned self] call in
      // A refused token or a reset costs Apple a call as well.
      history.calls.append(History.Call(time: call.time, endpoint: "\(call.environment) \(call.endpoint)"))
    }
    isLoading = true
    let load = Task { @LoopActor in
      await self.load()
      self.isLoading = false
    }
    let reading = Task { @LoopActor in await self.readAlong() }
    try await scenario.inject(self)
    await load.value
    try await scenario.heal(self)
    for name in Self.roles { try await fleet.ready(name) }
    try await settle()
    reading.cancel()
    await reading.value
    for read in statusReads { await read.value }
    try await readStatuses()
    try await registerAgain()
    collect()
    fleet.simulator.onCall = { _ in }
  }

  // MARK: Faults

  /// Whether registrations still come: faults are injected as long as they do.
  var goesOn: Bool { isLoading }

  /// Whether every accepted registration has its event.
  var isAllTold: Bool {
    Set(history.accepted.map(\.id)).isSubset(of: Set(history.events.map(\.synchronizationId)))
  }

  /// Notes a fault and what it was done to.
  func injected(_ fault: String) { history.faults.append(fault) }

  /// Waits for a random time.
  func pause(_ seconds: ClosedRange<Double>) async throws {
    try await EventLoop.sleep(for: .seconds(Double.random(in: seconds, using: &random)))
  }

  /// Starts roles and waits until they are ready.
  func restart(_ names: [String], with environment: [String: String] = [:]) async throws {
    usable.subtract(names)
    for name in names { try fleet.start(name, with: environment) }
    for name in names { try await fleet.ready(name) }
    usable.formUnion(names.filter(Self.gateways.contains))
  }

  // MARK: Load

  private func load() async {
    var pending: [Task<Void, Never>] = []
    let start = ContinuousClock.now
    for number in 0..<size.registrations {
      let due = start + .seconds(Double(number) / size.perSecond)
      let wait = due - ContinuousClock.now
      if wait > .zero { try? await EventLoop.sleep(for: wait) }
      let transaction = transaction(Int.random(in: 0..<size.transactions, using: &loadRandom))
      let gateway = usable.sorted().randomElement(using: &loadRandom)
      pending.append(Task { @LoopActor in await self.register("s\(number)", transaction, gateway) })
    }
    for task in pending { await task.value }
  }

  /// Subscriptions, single purchases and, now and then, an answer of Apple that takes its time.
  private func transaction(_ number: Int) -> String {
    let prefixes = ["100", "100", "103", "106", "110", "111", "112", "100", "131", "134"]
    return "\(prefixes[number % prefixes.count])\(1_000_000 + number)"
  }

  private func register(_ id: String, _ transaction: String, _ gateway: String?) async {
    let sentAt = unixMilliseconds()
    let answer = await answer(id, transaction, gateway)
    history.registrations.append(
      History.Registration(
        id: id, transaction: transaction, sentAt: sentAt, answeredAt: unixMilliseconds(), answer: answer))
  }

  private func answer(_ id: String, _ transaction: String, _ gateway: String?) async -> History.Answer {
    guard let gateway else { return .refused }
    do {
      let response = try await fleet.send(
        "POST", fleet.url("/storekit2/purchases", gateway: gateway),
        fleet.headers(RunningFleet.openPublisher) + [("Correlation-Id", id)],
        "{\"cleengCustomerId\":7,\"transactionId\":\"\(transaction)\"}", timeout: .seconds(20))
      switch response.status {
      case 202: return .accepted
      case 409: return .conflict
      // A client must be told when to come again.
      case 503: return response.header("retry-after") == nil ? .unexpected(503) : .unavailable
      default: return .unexpected(response.status)
      }
    } catch let error as HTTPClientError {
      return error.code == .unreachable ? .refused : .unknown
    } catch {
      return .unknown
    }
  }

  // MARK: Reading

  /// Reads the status behind every fourth new event: it must not be older than the event.
  private func readAlong() async {
    while !Task.isCancelled {
      try? await EventLoop.sleep(for: .milliseconds(20))
      collect()
    }
  }

  private func collect() {
    for event in fleet.events.all[eventsRead...] {
      eventsRead += 1
      history.events.append(
        History.Event(
          at: unixMilliseconds(), id: event.id, synchronizationId: event.synchronizationId, version: event.version,
          result: event.result))
      if eventsRead.isMultiple(of: 4) { readStatus(behind: event) }
    }
    for webhook in fleet.webhooks.all[webhooksRead...] {
      webhooksRead += 1
      if !webhook.isVerified { history.forgedWebhooks += 1 }
      guard let told = webhook.told else { continue }
      history.webhooks.append(
        History.Event(
          at: unixMilliseconds(), id: webhook.id, synchronizationId: told.synchronizationId, version: 0,
          result: told.result))
    }
  }

  private func readStatus(behind event: RunningFleet.Event) {
    guard let gateway = usable.sorted().randomElement(using: &readRandom) else { return }
    statusReads.append(
      Task { @LoopActor in
        // A gateway that is down answers nothing; one that has forgotten is checked at the end.
        guard
          let status = try? await self.fleet.status(
            event.synchronizationId, publisher: RunningFleet.openPublisher, gateway: gateway)
        else { return }
        if status.status != "finalized" || (status.version ?? 0) < event.version {
          self.history.staleReads.append(event.synchronizationId)
        }
      })
  }

  /// Waits until everything that was accepted was told, and delivered, or nothing has come for a while.
  private func settle() async throws {
    var seen = -1
    var quietSince = ContinuousClock.now
    // Longer than the time limit of a call of Apple, which a job may have to wait for.
    while ContinuousClock.now - quietSince < .seconds(45) {
      collect()
      let accepted = Set(history.accepted.map(\.id))
      let told = Set(history.events.map(\.synchronizationId))
      let delivered = Set(history.webhooks.map(\.synchronizationId))
      if accepted.isSubset(of: told), accepted.isSubset(of: delivered) { return }
      if eventsRead + webhooksRead != seen {
        seen = eventsRead + webhooksRead
        quietSince = .now
      }
      try await EventLoop.sleep(for: .milliseconds(50))
    }
  }

  private func readStatuses() async throws {
    for registration in history.accepted {
      guard let status = try await fleet.status(registration.id, publisher: RunningFleet.openPublisher) else {
        continue
      }
      history.statuses[registration.id] = History.Status(
        isFinalized: status.status == "finalized", version: status.version ?? 0, result: status.result ?? "")
    }
  }

  /// Registers every transaction once more: a claim that stayed would be a 409.
  private func registerAgain() async throws {
    for transaction in Set(history.registrations.map(\.transaction)).sorted() {
      // What was claimed for a client that got no answer is only given up after a while.
      let deadline = ContinuousClock.now + .seconds(20)
      while true {
        let status = try await fleet.register(
          transaction, publisher: RunningFleet.openPublisher, id: "again-\(transaction)"
        ).status
        if status == 202 { break }
        guard status == 409, ContinuousClock.now < deadline else {
          history.stillClaimed[transaction] = status
          break
        }
        try await EventLoop.sleep(for: .milliseconds(200))
      }
    }
  }
}
