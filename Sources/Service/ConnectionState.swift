/// Which changes of a connection are worth a line in the log, decided by value.
///
/// A connection that cannot be made is tried again many times a minute. One line tells it, and another one only tells
/// another cause.
struct ConnectionState {
  /// What a line tells.
  enum Event: String {
    case lost = "connection lost"
    case failed = "cannot connect"
  }

  private var isUp = false
  /// Why the last try failed; `nil` when there was none since the connection was up.
  private var cause: String?

  /// Notes that the connection is up.
  mutating func connected() { (isUp, cause) = (true, nil) }

  /// Notes that the connection has ended, or that none could be made.
  ///
  /// - Returns: what to log; `nil` when that was told before.
  mutating func ended(_ cause: String) -> Event? {
    if isUp {
      isUp = false
      return .lost
    }
    guard cause != self.cause else { return nil }
    self.cause = cause
    return .failed
  }
}
