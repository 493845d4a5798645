import EventLoop
import Fleets
import Formats
import HTTP

/// What happens to the lives and to the fleet during the load.
extension LifeRun {
  func putCustomers() async throws {
    var left = lives.customers[...]
    let clients = (0..<20).map { _ in
      Task { @LoopActor in
        while let (id, body) = left.popFirst() {
          let status = try await self.fleet.putCustomer(id, body).status
          guard status == 200 || status == 201 else {
            throw ScenarioFailure(description: "PUT of customer \(id) was answered with \(status)")
          }
        }
      }
    }
    for client in clients { try await client.value }
  }

  /// Begins the lives, lets things happen to them, and registers some of them, until the load's end.
  func load() async throws {
    let begin = ContinuousClock.now
    let registrations = registrations()
    let clients = Task { @LoopActor in try await self.register(registrations, since: begin) }
    let beginnings = Task { @LoopActor in try await self.beginLives(since: begin) }
    let count = Int(Double(size.lives) * size.actionsPerLife)
    for number in 0..<count {
      try await reach(size.seconds * Double(number) / Double(count), since: begin)
      guard begun > 0 else { continue }
      let action = RandomLives.action(&actionRandom)
      let index = Int.random(in: 0..<begun, using: &actionRandom)
      if try await fleet.act(action, on: lives.id(index)) { row.actions += 1 }
    }
    try await beginnings.value
    try await clients.value
    try await reach(size.seconds, since: begin)
  }

  /// The lives begin one after the other in the first third, so that they do not all renew in the same second.
  private func beginLives(since begin: ContinuousClock.Instant) async throws {
    let parts = min(size.lives, 100)
    for part in 0..<parts {
      try await reach(size.seconds / 3 * Double(part) / Double(parts), since: begin)
      let end = size.lives * (part + 1) / parts
      try await fleet.begin(lives: (begun..<end).map { lives.line($0, &lifeRandom) })
      begun = end
    }
  }

  // MARK: Registrations

  private struct Registration {
    let seconds: Double
    let index: Int
    let id: String
  }

  /// Each life that has a client is registered one to three times, at any moment of the last two thirds.
  private func registrations() -> [Registration] {
    lives.registered.flatMap { index in
      (0..<Int.random(in: 1...3, using: &clientRandom)).map { number in
        Registration(
          seconds: Double.random(in: size.seconds / 3..<size.seconds, using: &clientRandom), index: index,
          id: Self.synchronizationId(index, number))
      }
    }.sorted { $0.seconds < $1.seconds }
  }

  private func register(_ all: [Registration], since begin: ContinuousClock.Instant) async throws {
    var pending: [Task<Void, Never>] = []
    for each in all {
      try await reach(each.seconds, since: begin)
      let gateway = Chaos.gateways.randomElement(using: &clientRandom)!
      row.registrations += 1
      pending.append(
        Task { @LoopActor in
          // A gateway may refuse while Redis has just lost everything. Then nothing is promised.
          let answer = try? await self.fleet.register(
            self.lives.id(each.index), customer: self.lives.customer(each.index), id: each.id, gateway: gateway)
          if answer?.status == 202 { self.accepted.insert(each.id) }
        })
    }
    for task in pending { await task.value }
  }

  // MARK: Faults

  /// Kills workers all the time, and wipes Redis in the middle of the load.
  func breakParts() async throws {
    let begin = ContinuousClock.now
    let wipe = Task { @LoopActor in
      try await self.reach(self.size.seconds / 2, since: begin)
      self.row.faults.append("wipe redis")
      try await TestServers.current!.flushRedis()
    }
    while true {
      let pause = Double.random(in: 4...12, using: &faultRandom)
      guard (ContinuousClock.now - begin).inSeconds + pause < size.seconds else { break }
      try await EventLoop.sleep(for: .seconds(pause))
      let name = Chaos.workers.randomElement(using: &faultRandom)!
      row.faults.append("kill \(name)")
      await fleet.kill(name)
      try await EventLoop.sleep(for: .seconds(Double.random(in: 0.1...2, using: &faultRandom)))
      try fleet.start(name)
      try await fleet.ready(name)
    }
    try await wipe.value
  }
}
