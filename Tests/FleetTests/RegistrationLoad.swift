import EventLoop
import Fleets
import HTTP
import TestSupport

/// Registrations that go on, one after the other, while a test changes something.
///
/// Each one is for a customer of its own, and the open publisher knows all customers.
@LoopActor
final class RegistrationLoad {
  static let publisher = RunningFleet.openPublisher
  /// So many synchronizations may wait for their event. The fleet is slower than a loop of requests.
  private static let window = 50

  /// The synchronizations that a gateway has accepted.
  private(set) var accepted: Set<String> = []
  private let fleet: RunningFleet
  private var isOver = false

  private init(_ fleet: RunningFleet) { self.fleet = fleet }

  /// Runs a body under load, and returns what a gateway has accepted: at least 100 synchronizations.
  static func with(
    _ fleet: RunningFleet, _ body: @LoopActor (RegistrationLoad) async throws -> Void
  ) async throws -> Set<String> {
    let load = RegistrationLoad(fleet)
    let running = Task { @LoopActor in await load.run() }
    do {
      try await body(load)
      try await eventually("enough registrations") { load.accepted.count >= 100 }
    } catch {
      await load.end(running)
      throw error
    }
    await load.end(running)
    return load.accepted
  }

  private func end(_ running: Task<Void, Never>) async {
    isOver = true
    await running.value
  }

  private func run() async {
    var number = 0
    while !isOver {
      number += 1
      let answer = try? await fleet.register(
        "1000\(100_000_000_000 + number)", customer: Int64(1000 + number), publisher: Self.publisher,
        id: "load-\(number)")
      // While a server is away, a gateway may say 503. What it accepts counts.
      if answer?.status == 202 { accepted.insert("load-\(number)") }
      try? await eventually("room for another one") {
        isOver || accepted.count - fleet.events.all.count < Self.window
      }
    }
  }

  /// Waits until registrations are accepted and finalized that begin now.
  func goOn() async throws {
    let before = accepted
    try await eventually("registrations go on") { accepted.count > before.count + 10 }
    let new = accepted.subtracting(before)
    _ = try await fleet.finished(new)
  }
}

extension RunningFleet {
  /// Waits until roles have used a changed configuration so often, and use what their files say.
  func reloaded(_ roles: [String], times: Int) async throws {
    for role in roles {
      try await eventually("\(role) has read the new files") {
        let used = try await metric(role, "countersign_configuration_reloads_total{outcome=\"used\"}")
        let isCurrent = try await isCurrent(role)
        return used >= Double(times) && isCurrent
      }
    }
  }

  /// Waits until roles have refused a changed configuration.
  func refused(_ roles: [String]) async throws {
    for role in roles { try await eventually("\(role) tells it") { try await !isCurrent(role) } }
  }

  private func isCurrent(_ role: String) async throws -> Bool {
    try await metric(role, "countersign_configuration_current") == 1
  }
}
