/// How long libmicrohttpd may work in one turn of the loop, however often it is run there.
///
/// Within a turn the server runs it for its descriptors, its timer, connections that bytes have woken, and answers. If
/// each of these runs had a limit of its own, the turn would have none.
struct TurnTime {
  /// After so much work, the loop looks at its other descriptors first.
  static let most = Duration.milliseconds(1)

  private var turn: UInt64?
  private var spent = Duration.zero

  /// Begins a run.
  ///
  /// - Parameter turn: names the turn under way; `nil` counts as a new one.
  /// - Returns: whether it is the first run of its turn.
  mutating func begin(in turn: UInt64?) -> Bool {
    guard turn == nil || turn != self.turn else { return false }
    self.turn = turn
    spent = .zero
    return true
  }

  /// Notes how long a piece of a run took.
  mutating func add(_ time: Duration) { spent += time }

  /// Whether the next piece has to wait for the next turn.
  var isOver: Bool { spent >= Self.most }
}
