public import Domain
import FoundationEssentials

/// Faults that a test asks a role for, by environment variables that no configuration describes.
public struct TestFaults: Sendable {
  /// The offset of the clock: `COUNTERSIGN_TEST_CLOCK_OFFSET_SECONDS`.
  public let clockOffsetMilliseconds: Int64
  /// A worker crashes when it runs a job of this transaction: `COUNTERSIGN_TEST_CRASH_TRANSACTION`.
  public let crashTransaction: TransactionId?
  /// A worker crashes after the commit of a job of this transaction, before it publishes the event:
  /// `COUNTERSIGN_TEST_CRASH_AFTER_COMMIT`.
  public let crashAfterCommit: TransactionId?
  /// A worker crashes when the broker has confirmed the event of a job of this transaction, before it ends the claim:
  /// `COUNTERSIGN_TEST_CRASH_AFTER_PUBLISH`.
  public let crashAfterPublish: TransactionId?
  /// A worker crashes before it tells Apple about the consumption of this transaction:
  /// `COUNTERSIGN_TEST_CRASH_BEFORE_ANSWER`.
  public let crashBeforeAnswer: TransactionId?
  /// A notifier crashes when an endpoint has answered about this synchronization, before it records the attempt:
  /// `COUNTERSIGN_TEST_CRASH_DELIVERY`.
  public let crashDelivery: String?
  /// A worker crashes when it applies a notification about this purchase, by its original transaction id:
  /// `COUNTERSIGN_TEST_CRASH_NOTIFICATION`.
  public let crashNotification: OriginalTransactionId?
  /// A worker crashes when it looks at this purchase because a timer is due, by its original transaction id:
  /// `COUNTERSIGN_TEST_CRASH_LOOK`.
  public let crashLook: OriginalTransactionId?
  /// A worker crashes when it has a page of this Notification History, as `1001:com.example.app:Production`:
  /// `COUNTERSIGN_TEST_CRASH_HISTORY`.
  public let crashHistory: String?

  /// Reads the faults from the environment of this process.
  public init() {
    let environment = ProcessInfo.processInfo.environment
    clockOffsetMilliseconds = (Int64(environment["COUNTERSIGN_TEST_CLOCK_OFFSET_SECONDS"] ?? "") ?? 0) * 1000
    crashTransaction = environment["COUNTERSIGN_TEST_CRASH_TRANSACTION"].map(TransactionId.init(_:))
    crashAfterCommit = environment["COUNTERSIGN_TEST_CRASH_AFTER_COMMIT"].map(TransactionId.init(_:))
    crashAfterPublish = environment["COUNTERSIGN_TEST_CRASH_AFTER_PUBLISH"].map(TransactionId.init(_:))
    crashBeforeAnswer = environment["COUNTERSIGN_TEST_CRASH_BEFORE_ANSWER"].map(TransactionId.init(_:))
    crashDelivery = environment["COUNTERSIGN_TEST_CRASH_DELIVERY"]
    crashNotification = environment["COUNTERSIGN_TEST_CRASH_NOTIFICATION"].map(OriginalTransactionId.init(_:))
    crashLook = environment["COUNTERSIGN_TEST_CRASH_LOOK"].map(OriginalTransactionId.init(_:))
    crashHistory = environment["COUNTERSIGN_TEST_CRASH_HISTORY"]
  }
}
