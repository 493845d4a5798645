import Domain

/// What waits for a commit, and what goes into the next one.
///
/// For example, 5,000 rows of an import wait, and both connections are free. One commit takes 200 of them. A purchase
/// that comes a moment later takes the other connection at once: background work never holds the last one, unless there
/// is only one. It never goes before work that somebody waits for, except for one commit in five, so that it does not
/// starve.
///
/// A crowded customer is one whose work comes while other work of the same customer waits or is under way. A commit
/// locks the customer's row, and each further one waits for it, with all that it has taken along. So a crowded customer
/// has commits of its own, one at a time, and they are held back as background work is (decision 0065).
///
/// Within each of the kinds, the publishers take turns, or the crowded customers.
struct CommitTurns<Element> {
  /// The work of one commit, all of one kind.
  struct Batch {
    let elements: [Element]
    fileprivate let kind: Kind
    fileprivate let customers: [CustomerKey]

    /// Whether nobody waits for it.
    var isBackground: Bool { kind == .background }
  }

  fileprivate enum Kind { case awaited, crowded, background }

  private struct Waiting {
    let element: Element
    let customer: CustomerKey?
  }

  /// The most elements of one commit.
  let mostAtOnce: Int
  /// The commits that may run at the same time.
  let connections: Int
  private var awaited = TurnQueue<Int64, Waiting>()
  private var crowded = TurnQueue<CustomerKey, Waiting>()
  private var background = TurnQueue<Int64, Waiting>()
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

  /// Held back work waits for at most this many commits in a row that somebody waits for.
  static var mostPasses: Int { 4 }
  /// How long a customer stays crowded. Other workers have work of the same customer, and may hold its row.
  static var crowdLasts: Duration { .seconds(5) }
  /// When so many customers have been crowded, those that are no longer are forgotten.
  private static var mostRemembered: Int { 256 }

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
  ///   - customer: whose row the commit locks; `nil` if nobody knows yet.
  ///   - now: the time of a clock that never goes back.
  mutating func append(
    _ element: Element, of publisherId: Int64, for customer: CustomerKey?, isBackground: Bool, at now: Duration
  ) {
    let waiting = Waiting(element: element, customer: customer)
    let isCrowded = customer.map { note($0, at: now) } ?? false
    if isBackground {
      background.append(waiting, of: publisherId)
    } else if isCrowded, let customer {
      crowded.append(waiting, of: customer)
    } else {
      awaited.append(waiting, of: publisherId)
    }
  }

  /// Counts a customer's work; returns whether the customer is crowded.
  private mutating func note(_ customer: CustomerKey, at now: Duration) -> Bool {
    let count = present[customer, default: 0]
    present[customer] = count + 1
    guard count > 0 || crowdedUntil[customer].map({ now < $0 }) ?? false else { return false }
    if crowdedUntil.count >= Self.mostRemembered { crowdedUntil = crowdedUntil.filter { now < $0.value } }
    crowdedUntil[customer] = now + Self.crowdLasts
    return true
  }

  /// Returns the elements of the commit that begins now; `nil` if none may begin. ``end(_:)`` tells its end.
  mutating func next() -> Batch? {
    guard running < connections else { return nil }
    let mayHoldBack = !(crowded.isEmpty && background.isEmpty) && runningHeldBack < max(1, connections - 1)
    guard mayHoldBack, awaited.isEmpty || passes >= Self.mostPasses else {
      guard !awaited.isEmpty else { return nil }
      // A commit that held back work could not have had passes nothing.
      passes = mayHoldBack ? passes + 1 : passes
      return begin(awaited.takeNext(mostAtOnce), .awaited)
    }
    runningHeldBack += 1
    passes = 0
    wasCrowded = background.isEmpty || !crowded.isEmpty && !wasCrowded
    return wasCrowded
      ? begin(crowded.takeNextParty(mostAtOnce), .crowded) : begin(background.takeNext(mostAtOnce), .background)
  }

  private mutating func begin(_ waiting: [Waiting], _ kind: Kind) -> Batch {
    running += 1
    return Batch(elements: waiting.map(\.element), kind: kind, customers: waiting.compactMap(\.customer))
  }

  /// Notes that the commit of a batch has ended.
  mutating func end(_ batch: Batch) {
    running -= 1
    if batch.kind != .awaited { runningHeldBack -= 1 }
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
