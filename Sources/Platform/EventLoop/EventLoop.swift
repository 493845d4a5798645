import CUV
import Glibc
import Synchronization

#if JEMALLOC
  import CJemalloc
#endif

/// The one loop of a process: a libuv loop on its own thread that is also the executor of ``LoopActor``.
///
/// Everything in a process runs here, so an `await` between the AMQP, Redis and HTTP clients is a function call and not
/// a thread switch (decision 0001). The loop is a `SerialExecutor` only. If it were a task executor too, the runtime
/// would enqueue it again at every actor call.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
  // Sendable is right: code touches `foreignJobs` only under `lock`, and `uv_async_send` is documented as thread-safe.
  // `init` writes `thread` before it returns, and only the loop's own thread touches everything else.

  /// The loop of this process.
  public static let process = EventLoop()

  let uv = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  private let wake = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
  private let beforePoll = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
  private let afterPoll = UnsafeMutablePointer<uv_check_t>.allocate(capacity: 1)
  private let spin = UnsafeMutablePointer<uv_idle_t>.allocate(capacity: 1)
  private var thread = pthread_t()

  private let lock = Lock()
  private var foreignJobs: [UnownedJob] = []
  private var jobs: [UnownedJob] = []
  private var isSpinning = false
  private var endings: [EndOfTurn] = []

  /// Whether a timer's handler runs.
  private(set) var isRunningTimer = false
  /// The timers that a timer's handler has started in this turn.
  private var laterTimers: [LoopTimer] = []

  /// When the turn under way began; 0 while the loop waits. The loop writes it, and any thread reads it.
  let turnBegan = Atomic<UInt64>(0)
  /// The ``LoopWork`` that runs now. The loop writes it, and any thread reads it.
  let presentWork = Atomic<UInt64>(0)
  var onTurn: (@LoopActor (LoopTurn) -> Void)?
  /// The clock of ``turnBegan``, in nanoseconds. Tests put another one in its place, and in that of ``ticks``.
  var clock: @Sendable () -> UInt64 = monotonicNanoseconds
  /// The clock of the pieces of work, in nanoseconds. It may be coarse.
  var ticks: @Sendable () -> UInt64 = tickNanoseconds
  private var measure = TurnMeasure(.jobs, at: 0)
  private var jobsOfTurn = 0
  /// When the turn under way began, by ``ticks``.
  private var turnTicks: UInt64 = 0

  /// How often the work at the end of a turn can plan further work for the same end. The rest comes in the next turn.
  /// So work that plans itself again and again cannot starve the sockets.
  private static let endingsPerTurn = 16
  /// The most jobs that run before the loop looks at its descriptors again. So a busy actor cannot starve the sockets.
  static let jobsPerTurn = 4096
  /// After so many nanoseconds of a turn no further job begins: several bodies that cost time may come together. The
  /// clock is coarse (``ticks``), so that a job does not pay for it.
  static let timeForJobs: UInt64 = 4_000_000

  private init() {
    check(uv_loop_init(uv), "uv_loop_init")
    uv.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    check(uv_async_init(uv, wake, onWake), "uv_async_init")
    check(uv_prepare_init(uv, beforePoll), "uv_prepare_init")
    check(uv_prepare_start(beforePoll, onBeforePoll), "uv_prepare_start")
    check(uv_check_init(uv, afterPoll), "uv_check_init")
    check(uv_check_start(afterPoll, onAfterPoll), "uv_check_start")
    check(uv_idle_init(uv, spin), "uv_idle_init")

    #if JEMALLOC
      // A burst's memory is free again within a second or two, not ten. So the memory of the same jobs' next step does
      // not come on top of it (decision 0013). If this call fails, the pages only go back at another time.
      _ = countersign_give_pages_back_after(1000)
    #endif
    countersign_offer_jobs()

    // If a broker hangs up, the write must fail and the process must go on.
    signal(SIGPIPE, SIG_IGN)
    // The variable is local, because a job looks at `thread` three dozen times. Swift would check a property that was
    // passed by reference for exclusive access at each look.
    var started = pthread_t()
    let failure = pthread_create(&started, nil, runLoop, Unmanaged.passRetained(self).toOpaque())
    thread = started
    precondition(failure == 0, "pthread_create for the event loop failed: \(String(cString: strerror(failure)))")
  }

  /// Plans an ending to run before the loop waits. ``EndOfTurn`` ensures that it is planned only once.
  @LoopActor
  func add(_ ending: EndOfTurn) { endings.append(ending) }

  /// Plans a timer to be armed at the end of the turn. ``LoopTimer`` ensures that it is planned only once.
  @LoopActor
  func add(_ timer: LoopTimer) { laterTimers.append(timer) }

  /// Runs a timer's handler. The timers that it starts cannot run before the next turn.
  @LoopActor
  func run(_ timer: LoopTimer) {
    begins(timer.work)
    isRunningTimer = true
    timer.fire()
    isRunningTimer = false
  }

  /// Notes the work that begins now, and with it the end of the work before.
  func begins(_ work: LoopWork) {
    let now = ticks()
    presentWork.store(work.word, ordering: .relaxed)
    if turnBegan.load(ordering: .relaxed) == 0 {
      measure = TurnMeasure(work, at: now)
      turnTicks = now
      turnBegan.store(clock(), ordering: .releasing)
    } else {
      measure.begin(work, at: now)
    }
  }

  /// Whether the caller runs on the loop's thread.
  public var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  public func checkIsolated() {
    precondition(isCurrent, "This must run on the event loop's thread.")
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      jobs.append(job)
    } else {
      lock.withLock { foreignJobs.append(job) }
      uv_async_send(wake)
    }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  fileprivate func run() {
    // The process that started this one, or the starting thread, may have blocked signals, as libdispatch's threads do.
    // This thread takes all signals, so that SIGTERM and SIGCHLD arrive, and passes an empty mask on to the processes
    // that it starts.
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    uv_run(uv, UV_RUN_DEFAULT)
  }

  fileprivate func takeForeignJobs() {
    lock.withLock {
      jobs.append(contentsOf: foreignJobs)
      foreignJobs.removeAll(keepingCapacity: true)
    }
  }

  fileprivate func runJobs() {
    guard !jobs.isEmpty else { return }
    begins(.jobs)
    var ran = 0
    let executor = asUnownedSerialExecutor()
    // They run before the wait for the descriptors and after it, and both belong to a turn. One always runs, so that
    // timers that take long do not starve them.
    while ran < jobs.count, jobsOfTurn + ran < Self.jobsPerTurn {
      jobs[ran].runSynchronously(on: executor)
      ran += 1
      if ticks() &- turnTicks >= Self.timeForJobs { break }
    }
    jobs.removeFirst(ran)
    jobsOfTurn += ran
  }

  fileprivate func endTurn() {
    LoopActor.assumeIsolated {
      runEndings()
      // After a long turn several may be overdue: libuv then runs them in the order in which they were armed.
      if laterTimers.count > 1 { laterTimers.sort { $0.due < $1.due } }
      for timer in laterTimers { timer.arm() }
      laterTimers.removeAll(keepingCapacity: true)
      tellTurn()
    }
    if (jobs.isEmpty && endings.isEmpty) == isSpinning {
      isSpinning.toggle()
      if isSpinning { uv_idle_start(spin, onSpin) } else { uv_idle_stop(spin) }
    }
  }

  /// Runs the work at the end of the turn, and what it plans for the same end.
  ///
  /// Work at the end of a turn may have to send something, which is an ending of its own.
  @LoopActor
  private func runEndings() {
    var next = 0
    for _ in 0..<Self.endingsPerTurn {
      let planned = endings.count
      guard next < planned else { break }
      while next < planned {
        let ending = endings[next]
        next += 1
        begins(ending.work)
        ending.runIfPlanned()
      }
    }
    if next == endings.count { endings.removeAll(keepingCapacity: true) } else { endings.removeFirst(next) }
  }

  @LoopActor
  private func tellTurn() {
    let began = turnBegan.load(ordering: .relaxed)
    guard began != 0 else { return }
    turnBegan.store(0, ordering: .relaxed)
    measure.end(at: ticks())
    let jobs = jobsOfTurn
    jobsOfTurn = 0
    guard let onTurn else { return }
    let now = clock()
    let time = now > began ? now - began : 0
    onTurn(
      LoopTurn(
        duration: .nanoseconds(Int64(time)), longest: measure.longest,
        longestDuration: .nanoseconds(Int64(measure.longestTime)), jobs: jobs))
  }
}

/// Keeps the jobs on the loop that the loop's thread gives to the runtime.
///
/// A continuation resumes its task on any thread, and from there the task returns to its actor. That would be two
/// thread switches for each reply of Redis; here there are none (decision 0011).
@c(countersign_take_job)
func takeJob(_ job: UnsafeMutableRawPointer?) -> Bool {
  guard let job, EventLoop.process.isCurrent else { return false }
  EventLoop.process.enqueue(ExecutorJob(unsafeBitCast(job, to: UnownedJob.self)))
  return true
}

private func loop(of data: UnsafeMutableRawPointer?) -> EventLoop {
  Unmanaged<EventLoop>.fromOpaque(data!).takeUnretainedValue()
}

private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  loop(of: context).run()
  return nil
}

private func onWake(_ handle: UnsafeMutablePointer<uv_async_t>?) {
  loop(of: handle!.pointee.loop.pointee.data).takeForeignJobs()
}

private func onBeforePoll(_ handle: UnsafeMutablePointer<uv_prepare_t>?) {
  let loop = loop(of: handle!.pointee.loop.pointee.data)
  loop.runJobs()
  loop.endTurn()
}

private func onAfterPoll(_ handle: UnsafeMutablePointer<uv_check_t>?) {
  loop(of: handle!.pointee.loop.pointee.data).runJobs()
}

private func onSpin(_ handle: UnsafeMutablePointer<uv_idle_t>?) {
  // An active idle handle makes the loop poll without waiting. It has no other purpose.
}

/// Stops the process if libuv fails in an operation on which every further step depends.
func check(_ status: Int32, _ operation: String) {
  precondition(status >= 0, "\(operation) failed: \(String(cString: uv_strerror(status)))")
}
