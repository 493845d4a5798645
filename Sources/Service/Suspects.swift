public import EventLoop
public import Observability

/// Lets a job, a delivery or a notification that may have killed its process run alone.
///
/// A job that crashes its worker takes all jobs beside it along. Each of them looks as guilty as it does. When
/// such jobs run alone, the innocent ones finish. The guilty one harms no other job until the worker gives it up
/// (decisions 0010 and 0034). Nobody waits long for it: after a while the others go on beside it (``SuspectTurns``).
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

  /// What became of a run.
  public enum Ending: Sendable, Equatable {
    /// It has run.
    case ran
    /// It has not run: another suspect was first, or the others have their time. It must come again.
    case later
    /// It has not run, and must not run any more.
    case never
  }

  /// The place of a suspect, from ``enterAlone(crashes:)`` to ``leaveAlone(_:)``.
  public struct Place: Sendable, Equatable {
    let hold: SuspectTurns.Hold
  }

  private var turns = SuspectTurns()
  private let begun = ContinuousClock.now
  private var ordinary: [CheckedContinuation<Void, Never>] = []
  private var suspect: (hold: SuspectTurns.Hold, waiter: CheckedContinuation<Void, Never>)?
  private var limit: LoopTimer?

  /// Creates it for a process.
  public init() {}

  /// Runs work in the way that its crashes ask for.
  ///
  /// - Parameter log: takes a line if it runs alone.
  public func run(crashes: Int, _ log: Log, _ work: @LoopActor () async -> Void) async -> Ending {
    switch Way(crashes: crashes) {
    case .beside:
      if !enterAtOnce() { await enter() }
      await work()
      leave()
    case .alone:
      guard let place = await enterAlone(crashes: crashes) else { return .later }
      log.warning("run alone: earlier runs did not end", ["crashes": .int(Int64(crashes))])
      await work()
      leaveAlone(place)
    case .never: return .never
    }
    return .ran
  }

  /// Counts the caller as an ordinary run from now on. Returns false while a suspect holds the others.
  public func enterAtOnce() -> Bool { turns.enter() }

  /// Waits until no suspect holds the others, and counts the caller as an ordinary run from then on.
  public func enter() async {
    while !turns.enter() { await withCheckedContinuation { ordinary.append($0) } }
  }

  /// Counts one more ordinary run. An ordinary run that has not ended begins it, so it need not wait.
  public func enterBeside() { turns.enterBeside() }

  /// Ends an ordinary run.
  public func leave() {
    turns.leave()
    follow()
  }

  /// Keeps others from beginning, and waits until no other job runs, or the hold is over.
  ///
  /// - Returns: `nil` when another suspect was first, or the others have their time. A second suspect must not wait
  ///   here: it would take the place of a job that can run.
  public func enterAlone(crashes: Int) async -> Place? {
    guard let hold = turns.enterAlone(crashes: crashes, at: now) else { return nil }
    if let longest = hold.limit {
      let limit = LoopTimer { [weak self] in self?.endHold() }
      limit.start(after: longest)
      self.limit = limit
    }
    if !turns.mayBegin(hold) { await withCheckedContinuation { suspect = (hold, $0) } }
    return Place(hold: hold)
  }

  /// Ends the run of a suspect, and lets the others run again.
  public func leaveAlone(_ place: Place) {
    turns.leaveAlone(place.hold, at: now)
    follow()
  }

  /// How long no suspect may hold the others, because they have their time.
  public var rest: Duration { turns.rest(at: now) }

  /// Lets the others run beside the suspect that holds them.
  func endHold() {
    if let hold = turns.hold { turns.release(hold, at: now) }
    follow()
  }

  private var now: Duration { ContinuousClock.now - begun }

  /// Wakes who may begin now.
  private func follow() {
    if let waiting = suspect, turns.mayBegin(waiting.hold) {
      suspect = nil
      waiting.waiter.resume()
    }
    guard turns.hold == nil else { return }
    limit?.close()
    limit = nil
    let waiting = ordinary
    ordinary = []
    for one in waiting { one.resume() }
  }
}
