import EventLoop
import Fleets
import TestSupport

/// Who has seen an event reads what it tells, or newer.
extension Chaos {
  /// Whether the ledger is read behind this event. In a quick run it is read behind every one.
  var isSampled: Bool { size.isQuick || Int.random(in: 0..<4, using: &readRandom) == 0 }

  /// Reads the purchase and the customer's entitlements behind the event of a synchronization.
  func readLedger(behind event: RunningFleet.Event) {
    guard let purchase = event.originalTransactionId, let environment = event.environment else { return }
    read(behind: "\(event.synchronizationId) of version \(event.version)") { gateway in
      try await self.fleet.purchase(
        purchase, environment: environment, publisher: self.publisher(of: event.customerId), gateway: gateway)
    } isBehind: {
      // A later version may have another owner: Cleeng's door moves purchases.
      $0.version < event.version
        || $0.version == event.version && event.accessGranted && $0.customerId != event.customerId
    }
    // A consumable is no entitlement.
    guard event.accessGranted, let offer = event.offerId, !event.isConsumable, !mayLoseAccess,
      !Self.mayMove(purchase)
    else { return }
    readEntitlements(behind: "\(event.synchronizationId) of version \(event.version)", of: event.customerId) { found in
      let entitlement = found.entitlements.first { $0.offerId == offer }
      guard let entitlement, entitlement.told.accessGranted else { return true }
      let deciding = entitlement.purchase
      return deciding.originalTransactionId == purchase && deciding.environment == environment
        && deciding.version < event.version
    }
  }

  /// Reads the customer's entitlements behind the event of a change.
  func readLedger(behind change: RunningFleet.EntitlementChange) {
    readEntitlements(
      behind: "version \(change.customerVersion) of customer \(change.customerId)", of: change.customerId
    ) { $0.customerVersion < change.customerVersion }
  }

  private func readEntitlements(
    behind what: String, of customer: String, isBehind: @escaping (RunningFleet.Entitlements) -> Bool
  ) {
    read(behind: what) { gateway in
      try await self.fleet.entitlements(
        customer, publisher: self.publisher(of: customer), gateway: gateway)
    } isBehind: {
      isBehind($0)
    }
  }

  private func read<Answer: Sendable>(
    behind what: String, _ read: @escaping @LoopActor (String) async throws -> (code: Int, body: Answer?),
    isBehind: @escaping (Answer) -> Bool
  ) {
    guard let gateway = usable.sorted().randomElement(using: &readRandom) else { return }
    statusReads.append(
      Task { @LoopActor in
        // A gateway that is down, or cut off from the ledger, answers nothing.
        guard let answer = try? await read(gateway), answer.code == 200 || answer.code == 404 else { return }
        self.history.ledgerReads += 1
        if answer.body.map(isBehind) ?? true { self.history.staleReads.append(what) }
      })
  }

  /// Reads every customer's entitlements at the end, when the events have told all their versions. A sweep publishes
  /// an event that nobody has published.
  func readEntitlements() async throws {
    let customers = Set((history.registrations + history.lastRegistrations).map { String($0.customer) })
    var left = customers.sorted()[...]
    let readers = (0..<10).map { _ in
      Task { @LoopActor in
        while let id = left.popFirst() {
          // A customer whose registrations were all refused is unknown. The open publisher answers 200 all the same.
          let answer = try? await self.fleet.entitlements(id, publisher: self.publisher(of: id))
          guard let found = answer?.body else {
            self.history.unreadEntitlements.append(id)
            continue
          }
          self.history.entitlements[id] = found
        }
      }
    }
    for reader in readers { await reader.value }
    // What told them may be deleted.
    guard !losesQueues else { return }
    try await notingVainWaits {
      try await untilNothingIsMissing("all versions of customers are told", every: .milliseconds(50)) {
        self.collect()
        let told = self.history.changes.reduce(into: [:]) {
          $0[$1.customerId] = max($0[$1.customerId] ?? 0, $1.customerVersion)
        }
        return self.history.entitlements.filter { $0.value.customerVersion > told[$0.key] ?? 0 }
          .map { "version \($0.value.customerVersion) of customer \($0.key)" }
      }
    }
  }
}
