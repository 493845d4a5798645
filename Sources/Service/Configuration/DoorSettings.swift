/// What the doors of a gateway share: limits, and how long a synchronous door waits for Apple.
public struct DoorSettings: Sendable {
  /// The most bytes of a body with a receipt.
  public var maxBodyBytes: Int
  /// How many receipts and long signed transactions are read at a time.
  public var receiptsAtOnce: Int
  /// How many requests wait for results at a time.
  public var maxWaiting: Int
  /// How long each synchronous door waits for results.
  public var iapticWait: Duration
  public var playfabWait: Duration
  public var mbaasyWait: Duration

  init(_ reader: SettingsReader) {
    maxBodyBytes = Int(
      reader.int(
        "gateway.doors.maxBodyBytes", 3 << 20, 16384...(8 << 20), "A longer body with a receipt is refused."))
    receiptsAtOnce = Int(
      reader.int(
        "gateway.doors.receiptsAtOnce", 2, 1...4,
        "Receipts and long signed transactions that are read at a time."))
    maxWaiting = Int(
      reader.int(
        "gateway.doors.maxWaiting", 10_000, 1...100_000,
        "Requests that wait for results at a time, half of `gateway.maxConnections` at most; one publisher's are three of four "
          + "at most."
      ))
    iapticWait = reader.seconds(
      "gateway.doors.iapticWaitSeconds", 15, 0.1...60, "How long the iaptic door waits for results.")
    playfabWait = reader.seconds(
      "gateway.doors.playfabWaitSeconds", 10, 0.1...60, "How long the PlayFab door waits for results.")
    mbaasyWait = reader.seconds(
      "gateway.doors.mbaasyWaitSeconds", 10, 0.1...60,
      "How long the Mbaasy door waits for results before it answers 206.")
  }
}
