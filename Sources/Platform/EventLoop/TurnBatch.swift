/// What the callers of one turn of the loop ask for, in as few trips to a server as possible.
///
/// For example, the readers of a hundred customers' purchases share one statement: the trip costs the server more than
/// the search for one customer.
@LoopActor
public final class TurnBatch<Question, Answer: Sendable> {
  /// One trip: an answer or an error for each question, in their order. If it throws, all of them fail.
  public typealias Trip = @LoopActor ([Question]) async throws -> [Result<Answer, any Error>]

  private let most: Int
  private let place: StaticString
  private let trip: Trip
  private var waiting: [(question: Question, waiter: CheckedContinuation<Answer, any Error>)] = []
  private lazy var sendLater = EndOfTurn(at: place) { [weak self] in self?.sendAll() }

  /// Creates an empty batch.
  ///
  /// - Parameters:
  ///   - most: the most questions of a trip.
  ///   - place: who asks, for the log of slow turns.
  ///   - trip: must not hold the batch or its owner.
  public init(atMost most: Int, at place: StaticString = #fileID, _ trip: @escaping Trip) {
    (self.most, self.place, self.trip) = (most, place, trip)
  }

  /// Asks, together with all others of this turn.
  ///
  /// - Throws: what the trip throws.
  public func ask(_ question: Question) async throws -> Answer {
    try await withCheckedThrowingContinuation { waiter in
      waiting.append((question, waiter))
      sendLater.plan()
    }
  }

  private func sendAll() {
    let all = waiting
    waiting.removeAll()
    for start in stride(from: 0, to: all.count, by: most) {
      let some = Array(all[start..<min(start + most, all.count)])
      Task.immediate { @LoopActor [trip] in
        do {
          let answers = try await trip(some.map(\.question))
          for (one, answer) in zip(some, answers) { one.waiter.resume(with: answer) }
        } catch {
          for one in some { one.waiter.resume(throwing: error) }
        }
      }
    }
  }
}
