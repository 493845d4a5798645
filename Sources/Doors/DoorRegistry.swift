package import Domain
package import Gateway

/// The one list of the doors that this build has. docs/internals/a-new-door.md tells how to add one.
package enum DoorRegistry {
  /// Every door. Events of one change, keys of the reference and labels of metrics come in this order.
  package static let all: [any GatewayDoor] = [Cleeng(), Iaptic(), PlayFab(), Mbaasy()]

  /// The same for the roles.
  package static let catalog = DoorCatalog(all)
}
