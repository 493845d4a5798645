import Domain

/// The turns of jobs that a person does not let wait: every publisher's first one comes before any publisher's second
/// one.
///
/// A turn stands where another open synchronization has the time at which the sweep looks at it, and the sweep begins
/// with the earliest. So turns are times on the first day of 1970, which no other synchronization has.
struct HurriedTurns: Equatable {
  /// The last turn, in milliseconds since 1970. Jobs beyond it share it.
  static let last: Int64 = 86_400_000

  private var taken: [PublisherId: Int64] = [:]

  /// The next turn of a publisher, from 1 on.
  mutating func next(of publisher: PublisherId) -> Int64 {
    let turn = min((taken[publisher] ?? 0) + 1, Self.last)
    taken[publisher] = turn
    return turn
  }
}
