import Domain

/// What waits for a commit, and what goes into the next one.
///
/// For example, 5,000 rows of an import wait, and both connections are free. One commit takes 200 of them. A purchase
/// that comes a moment later takes the other connection at once: background work never holds the last one, unless there
/// is only one. It never goes before work that somebody waits for, except for one commit in five, so that it does not
/// starve.
///
/// Within each of the two kinds, the publishers take turns.
struct CommitTurns<Element> {
  /// Elements for one commit, all of one kind.
  struct Batch {
    let elements: [Element]
    /// Whether nobody waits for them.
    let isBackground: Bool
  }

  /// The most elements of one commit.
  let mostAtOnce: Int
  /// The commits that may run at the same time.
  let connections: Int
  private var awaited = TurnQueue<Int64, Element>()
  private var background = TurnQueue<Int64, Element>()
  private var running = 0
  private var runningInBackground = 0
  /// The commits that went before background work in a row.
  private var passes = 0

  /// Background work waits for at most this many commits in a row that somebody waits for.
  static var mostPasses: Int { 4 }

  /// Creates an empty queue.
  init(mostAtOnce: Int, connections: Int) {
    self.mostAtOnce = max(1, mostAtOnce)
    self.connections = max(1, connections)
  }

  /// How many elements wait.
  var count: Int { awaited.count + background.count }

  /// Adds an element behind all others of its publisher and of its kind.
  mutating func append(_ element: Element, of publisherId: Int64, isBackground: Bool) {
    if isBackground { background.append(element, of: publisherId) } else { awaited.append(element, of: publisherId) }
  }

  /// Returns the elements of the commit that begins now; `nil` if none may begin. ``end(_:)`` tells its end.
  mutating func next() -> Batch? {
    guard running < connections else { return nil }
    let mayBeBackground = !background.isEmpty && runningInBackground < max(1, connections - 1)
    let isBackground = mayBeBackground && (awaited.isEmpty || passes >= Self.mostPasses)
    guard isBackground || !awaited.isEmpty else { return nil }
    running += 1
    guard isBackground else {
      // A commit that background work could not have had passes nothing.
      passes = mayBeBackground ? passes + 1 : passes
      return Batch(elements: awaited.takeNext(mostAtOnce), isBackground: false)
    }
    runningInBackground += 1
    passes = 0
    return Batch(elements: background.takeNext(mostAtOnce), isBackground: true)
  }

  /// Notes that the commit of a batch has ended.
  mutating func end(_ batch: Batch) {
    running -= 1
    if batch.isBackground { runningInBackground -= 1 }
  }

  /// Takes out all that waits.
  mutating func takeAll() -> [Element] { awaited.takeNext(awaited.count) + background.takeNext(background.count) }
}
