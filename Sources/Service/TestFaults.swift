import FoundationEssentials

/// Faults that a test asks a role for, by environment variables that no configuration describes.
public struct TestFaults: Sendable {
  /// The offset of the clock: `COUNTERSIGN_TEST_CLOCK_OFFSET_SECONDS`.
  public let clockOffsetMilliseconds: Int64
  /// A worker crashes when it runs a job of this transaction: `COUNTERSIGN_TEST_CRASH_TRANSACTION`.
  public let crashTransaction: String?

  /// Reads the faults from the environment of this process.
  public init() {
    let environment = ProcessInfo.processInfo.environment
    clockOffsetMilliseconds = (Int64(environment["COUNTERSIGN_TEST_CLOCK_OFFSET_SECONDS"] ?? "") ?? 0) * 1000
    crashTransaction = environment["COUNTERSIGN_TEST_CRASH_TRANSACTION"]
  }
}
