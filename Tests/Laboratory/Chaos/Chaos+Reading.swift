import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Observability
import TestSupport

/// The subscribers: they read events and statuses during a run and after it.
extension Chaos {
  /// Reads new events and webhooks, and the status behind every new event: it must not be older than the event.
  func readAlong() async {
    while !Task.isCancelled {
      try? await EventLoop.sleep(for: .milliseconds(20))
      collect()
    }
  }

  func collect() {
    for event in fleet.events.all[eventsRead...] {
      eventsRead += 1
      let seen = History.Event(
        at: unixMilliseconds(), id: event.id, synchronizationId: event.synchronizationId, version: event.version,
        result: event.result, offer: event.accessGranted ? event.offerId ?? "an offer without a name" : nil,
        body: event.body)
      history.events.append(seen)
      told[event.synchronizationId] = seen
      untold.remove(event.synchronizationId)
      readStatus(behind: event)
      if isSampled { readLedger(behind: event) }
    }
    for change in fleet.changes.all[changesRead...] {
      changesRead += 1
      history.changes.append(change)
      if isSampled { readLedger(behind: change) }
    }
    for webhook in fleet.webhooks.all[webhooksRead...] {
      webhooksRead += 1
      if !webhook.isVerified { history.forgedWebhooks += 1 }
      guard let told = webhook.told else { continue }
      history.webhooks.append(
        History.Event(
          at: unixMilliseconds(), id: webhook.id, synchronizationId: told.synchronizationId, version: 0,
          result: told.result, body: webhook.body))
    }
  }

  private func readStatus(behind event: RunningFleet.Event) {
    guard let gateway = usable.sorted().randomElement(using: &readRandom) else { return }
    statusReads.append(
      Task { @LoopActor in
        // A gateway that is down, or cut off from its store, answers nothing.
        guard
          let answer = try? await self.fleet.statusAnswer(
            event.synchronizationId, publisher: self.publisher(of: event.customerId), gateway: gateway)
        else { return }
        if answer.code == 200 { self.history.statusReads += 1 }
        guard answer.code == 200 || answer.code == 404 else { return }
        if answer.body?.status != "finalized" || (answer.body?.version ?? 0) < event.version {
          let found = answer.body.map { "\($0.status), version \($0.version ?? 0)" } ?? "\(answer.code)"
          self.history.staleReads.append("\(event.synchronizationId): \(found) behind version \(event.version)")
        }
      })
  }

  /// Waits until every accepted registration has its event and its webhook and nothing is in the outbox. Each of
  /// them has the patience of a test: longer than a call to Apple may take and the sweep that a job may have to wait
  /// for.
  ///
  /// What does not come becomes a finding: the verdict tells it beside all others.
  func settle() async throws {
    try await notingVainWaits {
      try await untilNothingIsMissing("what was accepted is told", every: .milliseconds(50)) {
        self.collect()
        let missing = self.unsettled
        // Other events than those of synchronizations may wait in the outbox of a worker that died.
        guard missing.isEmpty else { return missing }
        guard let rows = try? await self.fleet.count("outbox") else { return ["the ledger's answer about its outbox"] }
        return (0..<rows).map { "row \($0 + 1) of the outbox" }
      }
    }
  }

  /// The witnesses that accepted registrations lack.
  private var unsettled: [String] {
    let accepted = Set((history.accepted + history.lastRegistrations).map(\.id))
    let delivered = Set(history.webhooks.map(\.synchronizationId))
    // What told them may be deleted.
    if losesQueues { return accepted.filter { told[$0] == nil && !delivered.contains($0) }.map { "a sign of \($0)" } }
    return accepted.filter { told[$0] == nil }.map { "the event of \($0)" }
      + accepted.subtracting(delivered).map { "the webhook of \($0)" }
  }

  /// Waits for something after the load. What does not come becomes a finding.
  func notingVainWaits(_ wait: @LoopActor () async throws -> Void) async throws {
    do {
      try await wait()
    } catch let error as NeverHappened {
      history.vainWaits.append(error.description)
    }
  }

  /// Reads the last status of every synchronization that a gateway accepted or an event told.
  func readStatuses() async {
    let registered = (history.accepted + history.lastRegistrations).map { ($0.id, String($0.customer)) }
    let told = fleet.events.all.map { ($0.synchronizationId, $0.customerId) }
    let customers = Dictionary(registered + told) { one, _ in one }
    var left = customers.keys.sorted()[...]
    let readers = (0..<20).map { _ in
      Task { @LoopActor in
        while let id = left.popFirst() {
          let publisher = self.publisher(of: customers[id] ?? "")
          guard let status = try? await self.fleet.status(id, publisher: publisher) else { continue }
          self.history.statuses[id] = History.Status(
            isFinalized: status.status == "finalized", version: status.version ?? 0, result: status.result ?? "",
            offer: status.accessGranted == true ? status.offerId : nil)
        }
      }
    }
    for reader in readers { await reader.value }
  }

  /// A line of a worker's log about a result that it dropped.
  static let staleRun = "\"cause\":\"the lease has ended\""

  /// Reads in the workers' logs which jobs the sweep enqueued again, and which results they dropped.
  func readLogs() {
    history.handedBack = fleet.logged("\"event\":\"handed back\"").count
    history.staleRuns = fleet.logged(Self.staleRun).count
    struct Line: Decodable {
      let time: String
      let synchronizationId: String
      let cause: String?
    }
    for text in fleet.logged("\"event\":\"enqueued again\"") {
      guard let line = try? JSONDecoder().decode(Line.self, from: Data(text.utf8)),
        let time = milliseconds(rfc3339: line.time)
      else { continue }
      if line.cause == nil {
        history.sweeps[line.synchronizationId] = min(time, history.sweeps[line.synchronizationId] ?? time)
      } else {
        history.sweptFromHands.insert(line.synchronizationId)
      }
    }
  }
}
