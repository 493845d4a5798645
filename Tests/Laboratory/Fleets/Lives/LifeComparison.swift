public import EventLoop
import Formats

/// Compares what gateways tell about purchases, owners and entitlements with what the simulator knows.
@LoopActor
public struct LifeComparison {
  private let fleet: RunningFleet
  private let lives: RandomLives

  /// The lives that a client has registered with success.
  public var owned: Set<Int> = []
  /// How many reads are under way at a time.
  private static let atOnce = 32

  /// Creates a comparison.
  public init(_ fleet: RunningFleet, _ lives: RandomLives) { (self.fleet, self.lives) = (fleet, lives) }

  /// Compares everything, each life and each customer at an instant of its own.
  ///
  /// - Returns: one line for each difference, with both sides.
  public func differences() async throws -> [String] { try await compare(try await fleet.lives()) }

  /// Compares everything at one instant; while the truth changes, there is no such instant.
  public func differencesAtOneInstant() async throws -> [String] {
    let truth = try await fleet.lives()
    let lines = try await compare(truth)
    return try await fleet.lives() == truth ? lines : lines + ["the truth has changed meanwhile"]
  }

  private func compare(_ all: [SimulatedLife]) async throws -> [String] {
    var lines: [String] = []
    var told: [String: ToldPurchase] = [:]
    try await each(all) { life in
      let (purchase, found) = try await compare(life)
      told[life.originalTransactionId] = purchase
      lines += found
    }
    lines += differencesOfOwners(all, told)
    let owners = Dictionary(grouping: all) { told[$0.originalTransactionId]?.customerId ?? "" }
    try await each(lives.customers.map(\.id)) { customer in
      lines += try await compare(customer, owners[customer] ?? [])
    }
    return lines.sorted()
  }

  private func each<Item: Sendable>(
    _ items: [Item], _ body: @escaping @LoopActor (Item) async throws -> Void
  ) async throws {
    var left = items[...]
    let readers = (0..<Self.atOnce).map { _ in
      Task { @LoopActor in while let item = left.popFirst() { try await body(item) } }
    }
    for reader in readers { try await reader.value }
  }

  // MARK: Purchases

  private func compare(_ life: SimulatedLife) async throws -> (ToldPurchase?, [String]) {
    let id = life.originalTransactionId
    var (truth, told) = (life, try await fleet.told(id))
    var lines = differences(of: told, from: truth)
    // An access may have ended between the two readings.
    for _ in 0..<3 where !lines.isEmpty {
      truth = try await fleet.life(id)
      told = try await fleet.told(id)
      lines = differences(of: told, from: truth)
      if try await fleet.life(id) == truth { break }
    }
    return (told, lines)
  }

  private func differences(of told: ToldPurchase?, from life: SimulatedLife) -> [String] {
    told?.differences(from: life) ?? ["\(life.originalTransactionId) (\(life.state)) is not in the ledger"]
  }

  // MARK: Owners

  /// A life that took the place of another one has its owner. Each other life's owner is known from its way.
  private func differencesOfOwners(_ all: [SimulatedLife], _ told: [String: ToldPurchase]) -> [String] {
    var expected: [String: String?] = [:]
    for index in 0..<lives.count {
      switch lives.way(index) {
      case .registered where owned.contains(index), .token: expected[lives.id(index)] = String(lives.customer(index))
      case .registered: break
      case .nobody: expected[lives.id(index)] = .some(nil)
      }
    }
    var lines: [String] = []
    for life in all {
      let id = life.originalTransactionId
      guard let purchase = told[id] else { continue }
      if let previous = life.previousOriginalTransactionId { expected[id] = .some(told[previous]?.customerId) }
      guard let owner = expected[id], !purchase.customerId.isExactly(owner) else { continue }
      lines.append("\(id) (\(life.state)): customerId is \(purchase.customerId ?? "-"), not \(owner ?? "-")")
    }
    return lines
  }

  // MARK: Entitlements

  private func compare(_ customer: String, _ lives: [SimulatedLife]) async throws -> [String] {
    var truth = lives
    var lines = try await differences(of: customer, from: truth)
    for _ in 0..<3 where !lines.isEmpty {
      truth = try await read(lives)
      lines = try await differences(of: customer, from: truth)
      if try await read(lives) == truth { break }
    }
    return lines
  }

  private func read(_ lives: [SimulatedLife]) async throws -> [SimulatedLife] {
    var read: [SimulatedLife] = []
    for life in lives { read.append(try await fleet.life(life.originalTransactionId)) }
    return read
  }

  private func differences(of customer: String, from lives: [SimulatedLife]) async throws -> [String] {
    guard let told = try await fleet.entitlements(customer).body else { return ["\(customer) is unknown"] }
    var lines: [String] = []
    for (offer, product) in [("S1", "com.example.app.monthly"), ("S2", "com.example.app.yearly")] {
      let giving = lives.filter { $0.hasAccess && $0.productId.isExactly(product) }
      let until = giving.compactMap(\.accessUntil).max().map(rfc3339(milliseconds:))
      let row = told.entitlements.first { $0.offerId.isExactly(offer) }?.told
      let end = row?.accessGranted == true ? row?.expiresAt ?? "no end" : "no access"
      if !end.isExactly(until ?? "no access") {
        lines.append("customer \(customer): \(offer) has \(end), not \(until ?? "no access")")
      }
    }
    return lines
  }
}
