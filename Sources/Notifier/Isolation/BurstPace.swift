/// How much of the loop's time bursts may use while other publishers have few events.
///
/// For example, a publisher has 20,000 events at once. Without a pace its deliveries keep the loop busy for seconds,
/// and another publisher's event waits for a turn of the loop at each step of its way. So a burst's deliveries begin
/// only as long as the loop has used less than its share of the time. Then they rest. The share grows. While the burst
/// is published, the machine is busy with that, so it is small. And a load that lasts must not become a backlog while
/// the loop has time (decisions 0067 and 0068).
///
/// It is a decision by value: a driver tells the time and the processor time.
struct BurstPace {
  /// How far a burst may go at one age.
  struct Stage {
    /// The part of the loop's time; 0 leaves what may begin after the longest rest.
    let share: Double
    /// The most deliveries that begin in one ``tick``. What they cost shows afterwards, and the pace cannot stop it
    /// then.
    let atOnce: Int

    static let published = Stage(share: 0, atOnce: 8)
    static let delivered = Stage(share: 0.5, atOnce: 8)
    static let lasting = Stage(share: 0.9, atOnce: 32)

    /// - Parameter age: for how long the burst has come.
    init(age: Duration) {
      self =
        switch age {
        case ..<BurstPace.publication: .published
        case ..<BurstPace.patience: .delivered
        default: .lasting
        }
    }

    private init(share: Double, atOnce: Int) { (self.share, self.atOnce) = (share, atOnce) }
  }

  /// For how long a burst is taken to be published, from its first message on.
  static let publication: Duration = .seconds(2)
  /// From which age on a burst is a load that lasts.
  static let patience: Duration = .seconds(10)
  /// The most processor time that unused time is worth.
  static let most: Duration = .milliseconds(2)
  /// A burst rests no longer than this: others may need more than their part by themselves.
  static let longestRest: Duration = .milliseconds(20)
  static let tick: Duration = .milliseconds(1)

  /// The processor time that the loop may use before the burst has to rest.
  private var credit = Self.most
  private var now: Duration = .zero
  private var used: Duration = .zero
  /// When the last delivery began, and how many have begun since the begin of the tick.
  private var begun: Duration = .zero
  private var tickBegan: Duration = .zero
  private var begunInTick = 0
  /// How many may begin whatever the loop has used, since the longest rest is over.
  private var free = 0
  private var stage = Stage.published

  /// Whether a delivery of a burst may begin. If so, the caller begins one.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - used: the processor time that the loop has used so far.
  ///   - age: for how long the publisher's burst has come (``BurstAges``).
  mutating func mayBegin(at now: Duration, used: Duration, age: Duration) -> Bool {
    stage = Stage(age: age)
    let earned = (now - self.now) * stage.share - (used - self.used)
    credit = max(.zero - Self.longestRest, min(Self.most, credit + earned))
    (self.now, self.used) = (now, used)
    if now - tickBegan >= Self.tick { (tickBegan, begunInTick) = (now, 0) }
    if credit > .zero {
      free = 0
    } else if now - begun >= Self.longestRest {
      free = Stage.published.atOnce
    }
    guard credit > .zero || free > 0 else { return false }
    guard begunInTick < stage.atOnce else { return false }
    free = max(0, free - 1)
    begun = now
    begunInTick += 1
    return true
  }

  /// How long the burst has to rest, after it could not begin at the last time.
  var rest: Duration {
    if credit > .zero || free > 0 { return Self.tick }
    let longest = Self.longestRest - (now - begun)
    return max(Self.tick, stage.share > 0 ? min((.zero - credit) / stage.share, longest) : longest)
  }
}
