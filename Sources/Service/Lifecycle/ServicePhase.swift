/// Where a service is in its life, by value: it starts once, and does not start again after it is closed.
public enum ServicePhase: Sendable, Equatable {
  /// It has never started.
  case new
  /// It works.
  case running
  /// It takes no new work.
  case closed
  /// It has ended what it had.
  case stopped

  /// Notes that somebody starts the service.
  ///
  /// - Returns: whether it must start now.
  public mutating func start() -> Bool {
    guard self == .new else { return false }
    self = .running
    return true
  }

  /// Notes that somebody closes the service.
  ///
  /// - Returns: whether it must give up what it does: not if it never started, and not twice.
  public mutating func close() -> Bool {
    let isFirst = self == .running
    if self != .stopped { self = .closed }
    return isFirst
  }

  /// Notes that somebody stops the service, which closes it too.
  ///
  /// - Returns: whether it must end what it has: not twice.
  public mutating func stop() -> Bool {
    let isFirst = self != .stopped
    self = .stopped
    return isFirst
  }
}
