extension Keys {
  /// Sorted set: the ids of the fleet's processes, by the time at which each was heard last, in milliseconds.
  public var fleet: String { "\(prefix)fleet" }
  /// String with expiry: a ``FleetBeat``.
  public func beat(_ id: String) -> String { "\(prefix)fleet:\(id)" }
}
