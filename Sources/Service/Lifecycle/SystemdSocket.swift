import EventLoop

/// Where systemd takes the messages of this process, and how often it wants to hear from it (sd_notify(3)).
///
/// For example, a unit with `Type=notify` and `WatchdogSec=30` gives `NOTIFY_SOCKET=/run/systemd/notify`,
/// `WATCHDOG_USEC=30000000` and `WATCHDOG_PID=` the id of the process.
struct SystemdSocket: Equatable {
  /// The path of the socket as the system wants it: one in the abstract namespace begins with a zero.
  let path: [UInt8]
  /// How long systemd waits for a sign of life; `nil` if it does not.
  let patience: Duration?

  /// Reads what systemd has put into the environment.
  ///
  /// - Returns: `nil` when no systemd waits for messages, or its socket is of a kind that a service does not get.
  init?(_ environment: [String: String], processId: Int32) {
    guard let text = environment["NOTIFY_SOCKET"] else { return nil }
    var path = Array(text.utf8)
    guard path.count > 1, path.count <= UnixDatagramSocket.mostBytesOfPath, !path.contains(0) else { return nil }
    switch path[0] {
    case UInt8(ascii: "/"): break
    case UInt8(ascii: "@"): path[0] = 0
    default: return nil
    }
    self.path = path
    // The watchdog of another process of the unit is not ours.
    let isOurs = environment["WATCHDOG_PID"].map { $0 == String(processId) } ?? true
    let patience = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    self.patience = isOurs && patience > 0 ? .microseconds(patience) : nil
  }
}
