/// Which connections give way first: worked out once, and then used up.
///
/// A connection gives way only after a grace. So if one comes, or brings a whole request, after the order is made, it
/// cannot be next before the grace is over. Until then the order is complete, with kinds and crowds as they were when
/// it was made. A newcomer costs the few steps to the first one that is left, and all connections are sorted once a
/// grace.
struct EvictionOrder {
  /// A connection that may have to give way.
  struct Candidate: Equatable {
    let id: Int
    /// Its kind: the lowest goes first.
    let rank: Int
    /// How many connections its network has, or its address within a network. Of a kind, the greatest crowd goes first.
    let crowd: Int
    /// When its grace began: when it came, or with its last whole request. Of a crowd, the oldest goes first.
    let since: Duration
  }

  private let made: Duration
  private let grace: Duration
  /// Candidates of one kind and one size of crowd, the oldest first. Where the first is too young, all are.
  private var runs: [ArraySlice<Candidate>] = []

  init(_ candidates: [Candidate], at now: Duration, grace: Duration) {
    (made, self.grace) = (now, grace)
    let sorted = candidates.sorted { Self.goes($0, before: $1) }
    var start = 0
    for (place, candidate) in sorted.enumerated() {
      let isLast = place + 1 == sorted.count
      if isLast || (sorted[place + 1].rank, sorted[place + 1].crowd) != (candidate.rank, candidate.crowd) {
        runs.append(sorted[start...place])
        start = place + 1
      }
    }
  }

  /// Whether a connection gives way before another.
  static func goes(_ one: Candidate, before other: Candidate) -> Bool {
    (one.rank, other.crowd, one.since, one.id) < (other.rank, one.crowd, other.since, other.id)
  }

  /// Whether nobody is missing in the order.
  func isComplete(at now: Duration) -> Bool { now - made < grace }

  /// The one that gives way first; `nil` if nobody's grace is over.
  ///
  /// - Parameters:
  ///   - own: how many connections the newcomer's network has. One of a network that has much less does not go for it.
  ///   - isStill: whether a connection is there, and has brought no whole request since. The order forgets the others.
  mutating func first(at now: Duration, beside own: Int = 0, where isStill: (Candidate) -> Bool) -> Int? {
    var run = 0
    while run < runs.count {
      while let candidate = runs[run].first, !isStill(candidate) { runs[run].removeFirst() }
      guard let candidate = runs[run].first else {
        runs.remove(at: run)
        continue
      }
      if now - candidate.since >= grace, !Crowds.isMuch(own, beside: candidate.crowd) { return candidate.id }
      run += 1
    }
    return nil
  }
}
