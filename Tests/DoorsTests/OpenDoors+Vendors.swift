import Domain

@testable import Doors

extension OpenDoors {
  /// The doors of a publisher, by vendor.
  init(
    cleeng: CleengDoor? = nil, iaptic: IapticDoor? = nil, playfab: PlayFabDoor? = nil, mbaasy: MbaasyDoor? = nil
  ) {
    let doors: [(any OpenDoor)?] = [cleeng, iaptic, playfab, mbaasy]
    self.init(doors.compactMap(\.self))
  }
}

/// What all open doors of a publisher tell.
enum DoorEvents {
  /// The events of a change, in the order in which they are published.
  static func of(_ change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    publisher.doors.all.flatMap { $0.events(of: change, publisher) }
  }

  /// The events of a job that ended without a purchase.
  static func ofFailure(_ job: Job, _ result: SynchronizationResult, _ publisher: Publisher, now: Int64) -> [Event] {
    publisher.doors.all.flatMap { $0.events(ofFailed: job, result, publisher, now: now) }
  }
}
