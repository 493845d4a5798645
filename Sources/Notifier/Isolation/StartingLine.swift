import Domain
import EventLoop
import Glibc

/// Messages in hand whose runs have not begun.
///
/// A run asks Redis and the ledger before its attempt. Few runs do that at a time, and publishers take turns to begin:
/// so one of few events waits for a moment, and not for the thousand runs of a burst. A run that has come to its
/// attempt, or waits for its turn there, makes room for the next one.
///
/// Messages from the queues of bursts have a line of their own. While another publisher has few events, they leave a
/// part of the loop's time unused (``BurstPace``).
@LoopActor
final class StartingLine {
  /// A run on its way to its attempt.
  @LoopActor
  final class Start {
    private weak var line: StartingLine?

    fileprivate init(_ line: StartingLine?) { self.line = line }

    /// A start that takes nobody's room.
    static let free = Start(nil)

    /// Makes room for the next run. Only the first call does.
    func end() {
      let line = line
      self.line = nil
      line?.ended()
    }
  }

  /// What begins when its turn has come, and what becomes of it otherwise.
  struct Waiting {
    let begin: @LoopActor (Start) -> Void
    let giveBack: @LoopActor () -> Void
  }

  /// The time, and what the loop has used.
  struct Clocks {
    /// A time that never goes back.
    var now: @LoopActor () -> Duration = { .nanoseconds(Int64(clamping: monotonicNanoseconds())) }
    /// The processor time of the loop's thread.
    var used: @LoopActor () -> Duration = {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
  }

  /// A publisher of few events, and when its last one came.
  private struct Quiet {
    let publisher: PublisherId
    let time: Duration
  }

  /// The most runs on their way to their attempts. 64 are enough to fill the trips to Redis and to the ledger. While a
  /// burst waits beside others, fewer: each step of a run waits behind the same step of all others. A load that lasts
  /// needs all of them.
  static let most = (usual: 64, besideBursts: 16)
  /// For how long bursts keep to their pace after another publisher's event.
  static let others: Duration = .seconds(10)

  private let clocks: Clocks
  private var few = TurnQueue<PublisherId, Waiting>()
  private var bursts = TurnQueue<PublisherId, Waiting>()
  private var ages = BurstAges()
  private var onTheWay = 0
  private var isBeginning = false
  /// Whether the last run that began was a burst's: both lines take turns.
  private var wasBurst = false
  private var pace = BurstPace()
  private var isPacing = true
  /// The last publisher of few events, and the last other one.
  private var quiet: Quiet?
  private var otherQuiet: Quiet?
  private var isResting = false
  /// Whether the rest under way is counted.
  private var isCounted = false
  private lazy var afterRest = LoopTimer { [weak self] in
    self?.isResting = false
    self?.beginAll()
  }

  /// How often bursts have rested.
  private(set) var rests = 0

  init(_ clocks: Clocks = Clocks()) { self.clocks = clocks }

  /// How many messages wait.
  var count: Int { few.count + bursts.count }

  /// Lets something begin at its publisher's turn: at once if there is room.
  ///
  /// - Parameter crowd: the class of the queue that it came from.
  func join(_ publisher: PublisherId, _ crowd: EventCrowd, _ one: Waiting) {
    switch crowd {
    case .few:
      if let quiet, quiet.publisher != publisher { otherQuiet = quiet }
      quiet = Quiet(publisher: publisher, time: clocks.now())
      few.append(one, of: publisher)
    case .burst, .flood:
      ages.note(publisher, at: clocks.now())
      bursts.append(one, of: publisher)
    }
    beginAll()
  }

  /// Paces nothing any more: the process stops, and what is in hand should end soon.
  func hurry() {
    isPacing = false
    afterRest.close()
    beginAll()
  }

  /// Gives back all that wait: the process stops.
  func giveBack() {
    hurry()
    for one in few.takeNext(few.count) + bursts.takeNext(bursts.count) { one.giveBack() }
  }

  private func ended() {
    onTheWay -= 1
    beginAll()
  }

  private func beginAll() {
    // A run that ends as soon as it begins comes back to here, and the loop goes on.
    guard !isBeginning else { return }
    isBeginning = true
    beginWhatMay()
    isBeginning = false
  }

  private func beginWhatMay() {
    while onTheWay < most {
      let isBurstsTurn = !wasBurst || few.isEmpty
      if isBurstsTurn, let publisher = bursts.next {
        if mayBegin(publisher) {
          begin(bursts.takeNext(1), isBurst: true)
          continue
        }
        if few.isEmpty { return rest() }
      }
      guard !few.isEmpty else { return }
      begin(few.takeNext(1), isBurst: false)
    }
  }

  /// The most runs on their way now.
  private var most: Int {
    guard let publisher = bursts.next else { return Self.most.usual }
    let now = clocks.now()
    let isYoung = ages.age(of: publisher, at: now) < BurstPace.patience
    return isYoung && hasOthers(than: publisher, now) ? Self.most.besideBursts : Self.most.usual
  }

  private func begin(_ one: [Waiting], isBurst: Bool) {
    wasBurst = isBurst
    if isBurst { isCounted = false }
    onTheWay += one.count
    for one in one { one.begin(Start(self)) }
  }

  // MARK: The pace of bursts

  private func mayBegin(_ publisher: PublisherId) -> Bool {
    let now = clocks.now()
    guard hasOthers(than: publisher, now) else { return true }
    return pace.mayBegin(at: now, used: clocks.used(), age: ages.age(of: publisher, at: now))
  }

  /// Whether another publisher has few events, so that bursts keep to their pace.
  private func hasOthers(than publisher: PublisherId, _ now: Duration) -> Bool {
    isPacing && (isOther(quiet, than: publisher, now) || isOther(otherQuiet, than: publisher, now))
  }

  private func isOther(_ quiet: Quiet?, than publisher: PublisherId, _ now: Duration) -> Bool {
    guard let quiet else { return false }
    return quiet.publisher != publisher && now - quiet.time < Self.others
  }

  private func rest() {
    guard !isResting else { return }
    isResting = true
    // A timer may come a moment early.
    if !isCounted { rests += 1 }
    isCounted = true
    afterRest.start(after: pace.rest)
  }
}
