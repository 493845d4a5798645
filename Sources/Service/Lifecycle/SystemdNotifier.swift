public import EventLoop
import Glibc

/// Tells systemd when this process has started, that its loop still turns, and when it begins to stop.
///
/// Each message is one datagram. We speak the protocol ourselves, as sd_notify(3) recommends, instead of linking
/// libsystemd. A message that systemd does not take is lost, and nothing of a role depends on it.
@LoopActor
public final class SystemdNotifier {
  private let socket: UnixDatagramSocket
  private let patience: Duration?
  /// Runs on the loop. So a loop that stands still sends nothing, and systemd restarts the process.
  private var heartbeat: LoopTimer?

  /// Opens the way to systemd.
  ///
  /// - Returns: `nil` when no systemd waits for messages.
  public init?(_ environment: [String: String]) {
    guard let place = SystemdSocket(environment, processId: getpid()), let socket = UnixDatagramSocket(to: place.path)
    else { return nil }
    self.socket = socket
    patience = place.patience
  }

  /// Tells that the role has started: `Type=notify` waits for this. From now on systemd hears of its life.
  public func started() {
    send("READY=1")
    guard heartbeat == nil, let patience else { return }
    let timer = LoopTimer { [weak self] in self?.send("WATCHDOG=1") }
    // The half, as sd_watchdog_enabled(3) recommends.
    timer.start(after: .zero, every: patience / 2)
    heartbeat = timer
  }

  /// Tells that the role finishes what runs, and then ends.
  public func stopping() { send("STOPPING=1") }

  /// Ends the way to systemd.
  public func close() {
    heartbeat?.close()
    heartbeat = nil
    socket.close()
  }

  private func send(_ message: String) { socket.send(Array(message.utf8)) }
}
