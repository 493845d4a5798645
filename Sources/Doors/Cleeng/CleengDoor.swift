package import Domain

/// Cleeng's StoreKit 1 contract.
struct CleengDoor: OpenDoor, Equatable {
  var policy: DoorPolicy

  /// Creates an open door. A payment moves the purchase to the customer who sends it, unless the publisher forbids it.
  init(policy: DoorPolicy = DoorPolicy(ownership: OwnershipPolicy(restore: .transfer))) { self.policy = policy }

  var id: Door { .cleeng }

  func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    CleengEvents.of(change, publisher)
  }

  func events(ofFailed job: Job, _ result: SynchronizationResult, _ publisher: Publisher, now: Int64) -> [Event] {
    job.door == .cleeng ? [CleengEvents.failed(job, result, about: nil, now: now)] : []
  }
}

extension Door {
  /// Cleeng's StoreKit 1 contract, `/apple/payment`.
  package static let cleeng = Door("cleeng", asker: .publisher)
}

extension OpenDoors {
  /// The publisher's door; `nil` while it is closed.
  var cleeng: CleengDoor? { open(CleengDoor.self) }
}
