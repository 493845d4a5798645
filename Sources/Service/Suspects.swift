public import EventLoop

/// Lets a job, a delivery or a notification that may have killed its process run alone.
///
/// A job that crashes its worker takes all jobs beside it along. Each of them looks as guilty as it does. When
/// such jobs run alone, the innocent ones finish. The guilty one harms no other job until the worker gives it up
/// (decisions 0010 and 0034).
@LoopActor
public final class Suspects {
  /// From this many crashes in a row on, the job runs alone. One crash alone may have any cause.
  public nonisolated static let aloneFrom = 2
  /// From this many crashes in a row on, the worker gives the job up.
  public nonisolated static let givenUpFrom = 6

  /// How a process runs something, by how many processes in a row died while they had it.
  public enum Way: Sendable, Equatable {
    /// Beside others.
    case beside
    /// Alone.
    case alone
    /// Not at all.
    case never

    /// Decides.
    public init(crashes: Int) {
      self = crashes < Suspects.aloneFrom ? .beside : crashes < Suspects.givenUpFrom ? .alone : .never
    }
  }

  /// Whether a suspect runs, or waits for the others to end.
  private var isReserved = false
  private var running = 0
  private var ordinary: [CheckedContinuation<Void, Never>] = []
  private var suspect: CheckedContinuation<Void, Never>?

  /// Creates it for a process.
  public init() {}

  /// Counts the caller as an ordinary run from now on. Returns false while a suspect runs, or waits to run.
  public func enterAtOnce() -> Bool {
    guard !isReserved else { return false }
    running += 1
    return true
  }

  /// Waits until no suspect runs, and counts the caller as an ordinary run from then on.
  public func enter() async {
    while isReserved { await withCheckedContinuation { ordinary.append($0) } }
    running += 1
  }

  /// Counts one more ordinary run. An ordinary run that has not ended begins it, so it need not wait.
  public func enterBeside() { running += 1 }

  /// Ends an ordinary run.
  public func leave() {
    running -= 1
    guard running == 0 else { return }
    suspect?.resume()
    suspect = nil
  }

  /// Waits until no other job runs, and keeps others from beginning.
  ///
  /// - Returns: false when another suspect was first. A second suspect must not wait here: it would take the place of
  ///   a job that can run.
  public func enterAlone() async -> Bool {
    guard !isReserved else { return false }
    isReserved = true
    if running > 0 { await withCheckedContinuation { suspect = $0 } }
    return true
  }

  /// Lets the others run again.
  public func leaveAlone() {
    isReserved = false
    let waiting = ordinary
    ordinary = []
    for one in waiting { one.resume() }
  }
}
