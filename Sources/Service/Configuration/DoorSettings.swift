public import Domain

/// What the doors of a gateway share: limits, and how long a synchronous door waits for Apple.
public struct DoorSettings: Sendable {
  /// The most bytes of a body with a receipt.
  public var maxBodyBytes: Int
  /// How many receipts and long signed transactions are read at a time.
  public var receiptsAtOnce: Int
  /// How many requests wait for results at a time.
  public var maxWaiting: Int
  /// How long each synchronous door waits for results.
  private let waits: [Door: Duration]

  init(_ reader: SettingsReader, _ doors: [any ConfiguredDoor]) {
    maxBodyBytes = Int(
      reader.int(
        "gateway.doors.maxBodyBytes", 3 << 20, 16384...(8 << 20),
        "Longest body with a receipt, in bytes. A longer one is refused."))
    receiptsAtOnce = Int(
      reader.int(
        "gateway.doors.receiptsAtOnce", 2, 1...4,
        "How many receipts and long signed transactions a gateway reads at the same time."))
    maxWaiting = Int(
      reader.int(
        "gateway.doors.maxWaiting", 10_000, 1...100_000,
        "How many requests may wait for results at the same time, at most half of `gateway.maxConnections`. One "
          + "publisher may have three quarters of them."
      ))
    var waits: [Door: Duration] = [:]
    for door in doors {
      guard let wait = door.wait else { continue }
      waits[door.id] = reader.seconds("gateway.doors.\(wait.key)", wait.seconds, 0.1...60, wait.meaning)
    }
    self.waits = waits
  }

  /// How long a door waits for results; `nil` if it waits for none.
  public func wait(at door: Door) -> Duration? { waits[door] }
}
