/// Finds the connections that libmicrohttpd holds as ready although nothing becomes of them.
///
/// While a chunk's size line fills the memory of its connection, libmicrohttpd (0.9.75) neither reads nor answers: its
/// timeout is 0 until the connection is silent for too long. It does not tell which connection that is. One that moves
/// calls the server, or takes bytes from its socket.
struct StallWatch {
  /// What a look has found about a connection.
  enum Verdict: Equatable {
    case moves
    /// Nothing waits at the socket. It is stuck, or waits for its client: it is out of the way until bytes come.
    case park
    /// Bytes wait, and nobody takes them.
    case cut
  }

  private struct Mark: Equatable {
    let calls: Int
    let waiting: Int
  }

  /// Turns of the loop in a row after which libmicrohttpd still had something to do.
  private var busyTurns = 0
  private var marks: [Int: Mark] = [:]
  private var seen: [Int: Mark] = [:]

  /// Such turns between two looks. A large body keeps libmicrohttpd busy for some turns too.
  static let turnsBetweenLooks = 4

  /// Notes whether libmicrohttpd has something left to do at the end of a turn.
  ///
  /// - Returns: whether the server must look at its connections now.
  mutating func endTurn(isBusy: Bool) -> Bool {
    guard isBusy else {
      busyTurns = 0
      (marks, seen) = ([:], [:])
      return false
    }
    busyTurns += 1
    guard busyTurns % Self.turnsBetweenLooks == 0 else { return false }
    (marks, seen) = (seen, [:])
    return true
  }

  /// Compares a connection with what the last look saw.
  ///
  /// - Parameters:
  ///   - calls: how often libmicrohttpd has called the server for this connection.
  ///   - waiting: the bytes that wait at its socket.
  mutating func look(at id: Int, calls: Int, waiting: Int) -> Verdict {
    let mark = Mark(calls: calls, waiting: waiting)
    seen[id] = mark
    guard marks[id] == mark else { return .moves }
    return waiting == 0 ? .park : .cut
  }
}
