import Domain

/// What waits for a commit, and what goes into the next one.
///
/// For example, 5,000 rows of an import wait, and both connections are free. One commit takes 200 of them. A purchase
/// that comes a moment later takes the other connection at once: background work never holds the last one, unless there
/// is only one. It never goes before work that somebody waits for, except for one commit in five, so that it does not
/// starve.
///
/// A crowded customer is one of whom several elements wait or are under way when another one comes. A commit locks the
/// customer's row, and each further one waits for it, with all that it has taken along. So the crowded customers of a
/// publisher have commits of their own, one at a time. They are held back as background work is, and those of one
/// publisher take a quarter of a connection, unless a commit takes longer than a third of a second: a customer may have
/// thousands of purchases, and each commit looks at them (decision 0065).
///
/// Within each of the kinds, the publishers take turns.
struct CommitTurns<Element> {
  /// The work of one commit, all of one kind.
  struct Batch {
    let elements: [Element]
    let kind: CommitKind
    fileprivate let customers: [CustomerKey]
    /// The publisher of the first element.
    fileprivate let publisherId: PublisherId?
    fileprivate let began: Duration
  }

  private struct Waiting {
    let element: Element
    let publisherId: PublisherId
    let customer: CustomerKey?
  }

  /// The most elements of one commit.
  let mostAtOnce: Int
  /// The commits that may run at the same time.
  let connections: Int
  private var awaited = TurnQueue<PublisherId, Waiting>()
  private var crowded = TurnQueue<PublisherId, Waiting>()
  private var background = TurnQueue<PublisherId, Waiting>()
  private var running = 0
  /// The commits under way that are held back: those of crowded customers, and background work.
  private var runningHeldBack = 0
  /// The commits that went before held back work in a row.
  private var passes = 0
  /// Whether the last commit that was held back was a crowded customer's. The two kinds take turns.
  private var wasCrowded = false
  /// How much of each customer's work waits or is under way.
  private var present: [CustomerKey: Int] = [:]
  /// Until when customers count as crowded, although nothing of them waits.
  private var crowdedUntil: [CustomerKey: Duration] = [:]
  /// When so many customers have been crowded, those that are no longer are forgotten.
  private var mostRemembered = leastRemembered
  /// Until when the crowded customers of publishers let others go first.
  private var restsUntil: [PublisherId: Duration] = [:]

  /// Held back work waits for at most this many commits in a row that somebody waits for.
  static var mostPasses: Int { 4 }
  /// A customer of whom so many elements wait or are under way is crowded with the next one.
  static var crowd: Int { 3 }
  /// After a commit of a publisher's crowded customers the next one waits for so many times as long as that one took.
  static var othersTime: Int { 3 }
  /// It waits no longer than this: the ledger may have been away meanwhile.
  static var longestRest: Duration { .seconds(1) }
  /// How long a customer stays crowded. Other workers have work of the same customer, and may hold its row.
  static var crowdLasts: Duration { .seconds(5) }
  private static var leastRemembered: Int { 256 }

  private static var forever: Duration { .seconds(Int64.max / 2) }

  /// Creates an empty queue.
  init(mostAtOnce: Int, connections: Int) {
    self.mostAtOnce = max(1, mostAtOnce)
    self.connections = max(1, connections)
  }

  /// How many elements wait.
  var count: Int { awaited.count + crowded.count + background.count }

  /// Adds an element behind all others of its publisher and of its kind.
  ///
  /// - Parameters:
  ///   - customer: whose row the commit locks; `nil` if nobody knows yet, or if it is nobody's.
  ///   - now: the time of a clock that never goes back.
  mutating func append(
    _ element: Element, of publisherId: PublisherId, for customer: CustomerKey?, isBackground: Bool, at now: Duration
  ) {
    let waiting = Waiting(element: element, publisherId: publisherId, customer: customer)
    let isCrowded = customer.map { note($0, at: now) } ?? false
    if isBackground {
      background.append(waiting, of: publisherId)
    } else if isCrowded {
      crowded.append(waiting, of: publisherId)
    } else {
      awaited.append(waiting, of: publisherId)
    }
  }

  /// Counts a customer's work; returns whether the customer is crowded.
  private mutating func note(_ customer: CustomerKey, at now: Duration) -> Bool {
    let count = present[customer, default: 0]
    present[customer] = count + 1
    guard count >= Self.crowd || crowdedUntil[customer].map({ now < $0 }) ?? false else { return false }
    if crowdedUntil.count >= mostRemembered {
      crowdedUntil = crowdedUntil.filter { now < $0.value }
      mostRemembered = max(Self.leastRemembered, 2 * crowdedUntil.count)
    }
    crowdedUntil[customer] = now + Self.crowdLasts
    return true
  }

  /// Returns the elements of the commit that begins now; `nil` if none may begin. ``end(_:at:)`` tells its end.
  mutating func next(at now: Duration) -> Batch? {
    guard running < connections else { return nil }
    if !restsUntil.isEmpty { restsUntil = restsUntil.filter { now < $0.value } }
    let hasCrowd = crowded.hasParty { restsUntil[$0] == nil }
    let mayHoldBack = (hasCrowd || !background.isEmpty) && runningHeldBack < max(1, connections - 1)
    guard mayHoldBack, awaited.isEmpty || passes >= Self.mostPasses else {
      guard !awaited.isEmpty else { return nil }
      // A commit that held back work could not have had passes nothing.
      passes = mayHoldBack ? passes + 1 : passes
      return begin(awaited.takeNext(mostAtOnce), .awaited, now)
    }
    runningHeldBack += 1
    wasCrowded = background.isEmpty || hasCrowd && !wasCrowded
    // Background work goes with the next commit, if it waits as well.
    passes = wasCrowded && !background.isEmpty ? Self.mostPasses : 0
    return wasCrowded
      ? begin(crowded.takeNextParty(mostAtOnce) { restsUntil[$0] == nil }, .crowded, now)
      : begin(background.takeNext(mostAtOnce), .background, now)
  }

  private mutating func begin(_ waiting: [Waiting], _ kind: CommitKind, _ now: Duration) -> Batch {
    running += 1
    let publisherId = waiting.first?.publisherId
    // Until it ends, it is the only one of the publisher's crowded customers.
    if kind == .crowded, let publisherId { restsUntil[publisherId] = Self.forever }
    return Batch(
      elements: waiting.map(\.element), kind: kind, customers: waiting.compactMap(\.customer),
      publisherId: publisherId, began: now)
  }

  /// How long nothing may begin but what comes: only work of crowded customers waits, and lets others go first.
  /// `nil` if nothing waits, or if the end of a commit comes first.
  func rest(at now: Duration) -> Duration? {
    guard running < connections, runningHeldBack < max(1, connections - 1), !crowded.isEmpty else { return nil }
    return restsUntil.values.filter { $0 < Self.forever }.min().map { max(.zero, $0 - now) }
  }

  /// Notes that the commit of a batch has ended.
  mutating func end(_ batch: Batch, at now: Duration) {
    running -= 1
    if batch.kind != .awaited { runningHeldBack -= 1 }
    if batch.kind == .crowded, let publisherId = batch.publisherId {
      restsUntil[publisherId] = now + min(max(.zero, now - batch.began) * Self.othersTime, Self.longestRest)
    }
    for customer in batch.customers {
      guard let count = present[customer] else { continue }
      present[customer] = count > 1 ? count - 1 : nil
    }
  }

  /// Takes out all that waits.
  mutating func takeAll() -> [Element] {
    let all = awaited.takeNext(awaited.count) + crowded.takeNext(crowded.count) + background.takeNext(background.count)
    return all.map(\.element)
  }
}
