package import Domain

/// PlayFab's client API. A session ticket is the publisher's customer token.
struct PlayFabDoor: OpenDoor, Equatable {
  var policy: DoorPolicy

  /// Creates an open door.
  init(policy: DoorPolicy = DoorPolicy()) { self.policy = policy }

  var id: Door { .playfab }
}

extension Door {
  /// PlayFab's client API for purchases of the App Store.
  package static let playfab = Door("playfab", asker: .publisher)
}

extension OpenDoors {
  /// The publisher's door; `nil` while it is closed.
  var playfab: PlayFabDoor? { open(PlayFabDoor.self) }
}
