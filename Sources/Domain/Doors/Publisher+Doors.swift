extension Publisher {
  /// Who may become the owner of a purchase that came through a door, or through our own API.
  public func ownership(through door: Door?) -> OwnershipPolicy {
    door.flatMap { doors.policy(of: $0)?.ownership } ?? ownership
  }

  /// Whether a request through a door, or through our own API, may only name a customer whom the publisher has
  /// registered.
  public func customers(through door: Door?) -> CustomerPolicy {
    door.flatMap { doors.policy(of: $0)?.customers } ?? customers
  }
}
