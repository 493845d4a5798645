public import EventLoop
import FoundationEssentials
import Glibc
public import TestSupport

/// A process that a test started and must end.
@LoopActor
public final class ChildProcess {
  /// A process that could not be started or that failed.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// The process id.
  public nonisolated let pid: Int32
  /// The exit status once it has ended, or the negative number of the signal that ended it.
  public private(set) var status: Int32?
  private let command: String
  private let change = LoopSignal()
  private static var children: [pid_t: ChildProcess] = [:]
  private static var signals: SignalWatcher?

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - environment: the whole environment; `nil` passes on our own.
  ///   - output: a file that standard output and error are appended to; `nil` passes on our own.
  /// - Throws: ``Failure``.
  public init(_ program: String, _ arguments: [String], environment: [String: String]? = nil, output: String? = nil)
    throws
  {
    if Self.signals == nil { Self.signals = SignalWatcher(SIGCHLD) { Self.reap() } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let output {
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
      for word in words + variables { free(word) }
    }
    var pid = pid_t()
    let error = posix_spawn(&pid, program, &actions, nil, words, variables)
    guard error == 0 else { throw Failure(description: "start \(program): \(String(cString: strerror(error)))") }
    self.pid = pid
    command = ([program] + arguments.prefix(2)).joined(separator: " ")
    Self.children[pid] = self
    Self.reap()  // the process may have ended before the table knew it
  }

  /// Sends a signal.
  public func send(_ signal: Int32) {
    if status == nil { Glibc.kill(pid, signal) }
  }

  /// Waits until the process has ended and returns its status.
  ///
  /// - Throws: `NeverHappened` if it does not end in time.
  @discardableResult
  public func ended(within limit: Duration = .patience) async throws -> Int32 {
    try await change.wait(for: "the end of \(command)", within: limit) { status != nil }
    // The wait has just seen it.
    return status!
  }

  /// Kills the process and waits until it is gone. No test can do more about one that the system keeps.
  public func kill() async {
    send(SIGKILL)
    _ = try? await ended()
  }

  private static func reap() {
    for (pid, child) in children {
      var raw: Int32 = 0
      guard waitpid(pid, &raw, WNOHANG) == pid else { continue }
      children[pid] = nil
      let signal = raw & 0x7F
      let status = signal == 0 ? (raw >> 8) & 0xFF : -signal
      child.status = status
      child.change.notify()
    }
  }
}
