/// Which connections give way first: worked out once, and then used up.
///
/// A connection gives way only after the grace in its phase. So if one comes, or enters a phase, after the order is
/// made, it cannot be next before the grace is over. Until then the order is complete. A newcomer costs the few steps
/// to the first one that is left, and all connections are sorted once a grace.
struct EvictionOrder {
  /// A connection that may have to give way, in the phase that it has now.
  struct Candidate: Equatable {
    let id: Int
    /// Its kind: the lowest goes first.
    let rank: Int
    /// How many connections its network has, or its address within a network. Of a kind, the greatest crowd goes first.
    let crowd: Int
    /// When it entered its phase. Of a crowd, the oldest goes first.
    let since: Duration
  }

  private let made: Duration
  private let grace: Duration
  /// Candidates of one kind and one size of crowd, the oldest first. Where the first is too young, all are.
  private var runs: [ArraySlice<Candidate>] = []

  init(_ candidates: [Candidate], at now: Duration, grace: Duration) {
    (made, self.grace) = (now, grace)
    let sorted = candidates.sorted { ($0.rank, $1.crowd, $0.since, $0.id) < ($1.rank, $0.crowd, $1.since, $1.id) }
    var start = 0
    for (place, candidate) in sorted.enumerated() {
      let isLast = place + 1 == sorted.count
      if isLast || (sorted[place + 1].rank, sorted[place + 1].crowd) != (candidate.rank, candidate.crowd) {
        runs.append(sorted[start...place])
        start = place + 1
      }
    }
  }

  /// Whether nobody is missing in the order.
  func isComplete(at now: Duration) -> Bool { now - made < grace }

  /// The one that gives way first; `nil` if nobody has been in a phase for the grace.
  ///
  /// - Parameter isStill: whether a connection is there, and in the candidate's phase. The order forgets the others.
  mutating func first(at now: Duration, where isStill: (Candidate) -> Bool) -> Int? {
    var run = 0
    while run < runs.count {
      while let candidate = runs[run].first, !isStill(candidate) { runs[run].removeFirst() }
      guard let candidate = runs[run].first else {
        runs.remove(at: run)
        continue
      }
      if now - candidate.since >= grace { return candidate.id }
      run += 1
    }
    return nil
  }
}
