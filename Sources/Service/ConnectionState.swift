/// Decides by value which changes of a connection are worth a line in the log.
///
/// A role tries a failed connection again many times a minute. The first failure gets one line. Another line follows
/// only if the cause changes.
struct ConnectionState {
  /// The message of a line.
  enum Event: String {
    case lost = "connection lost"
    case failed = "cannot connect"
  }

  private var isUp = false
  /// Why the last try failed; `nil` when no try has failed since the connection was up.
  private var cause: String?

  /// Notes that the connection is up.
  mutating func connected() { (isUp, cause) = (true, nil) }

  /// Notes that the connection has ended, or that the role could not make one.
  ///
  /// - Returns: the line for the log; `nil` when an earlier line told it.
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
