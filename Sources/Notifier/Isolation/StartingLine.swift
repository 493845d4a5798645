import Domain
import EventLoop

/// Messages in hand whose runs have not begun.
///
/// A run asks Redis and the ledger before its attempt. Few runs do that at a time, and publishers take turns to begin:
/// so one of few events waits for a moment, and not for the thousand runs of a burst. A run that has come to its
/// attempt, or waits for its turn there, makes room for the next one.
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

  /// The most runs on their way to their attempts. These are enough to fill the trips to Redis and to the ledger.
  static let most = 64

  private var waiting = TurnQueue<Int64, Waiting>()
  private var onTheWay = 0
  private var isBeginning = false

  /// How many messages wait.
  var count: Int { waiting.count }

  /// Lets something begin at its publisher's turn: at once if there is room.
  func join(_ publisher: Int64, _ one: Waiting) {
    waiting.append(one, of: publisher)
    beginAll()
  }

  /// Gives back all that wait: the process stops.
  func giveBack() { for one in waiting.takeNext(waiting.count) { one.giveBack() } }

  private func ended() {
    onTheWay -= 1
    beginAll()
  }

  private func beginAll() {
    // A run that ends as soon as it begins comes back to here, and the loop goes on.
    guard !isBeginning else { return }
    isBeginning = true
    defer { isBeginning = false }
    while onTheWay < Self.most, let next = waiting.takeNext(1).first {
      onTheWay += 1
      next.begin(Start(self))
    }
  }
}
