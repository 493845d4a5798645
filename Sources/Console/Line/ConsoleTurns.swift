/// Whose turn it is in a line: few work at once, few wait, and nobody fills the line alone.
struct ConsoleTurns {
  /// How much may be under way.
  struct Limits {
    let atOnce: Int
    let waiting: Int
    /// Of one owner, at work and waiting.
    let ofOwner: Int
  }

  /// What becomes of somebody who comes.
  enum Place: Equatable {
    case works, waits, refused
  }

  private let limits: Limits
  private var working = 0
  private var waiting: [(id: Int, owner: String)] = []
  private var counts: [String: Int] = [:]
  private var owners: [Int: String] = [:]

  init(_ limits: Limits) { self.limits = limits }

  /// Whether somebody who comes now is not refused.
  func hasRoom(for owner: String) -> Bool {
    (working < limits.atOnce || waiting.count < limits.waiting) && counts[owner, default: 0] < limits.ofOwner
  }

  /// Takes somebody into the line.
  mutating func add(_ id: Int, of owner: String) -> Place {
    guard hasRoom(for: owner) else { return .refused }
    counts[owner, default: 0] += 1
    owners[id] = owner
    guard working < limits.atOnce else {
      waiting.append((id, owner))
      return .waits
    }
    working += 1
    return .works
  }

  /// Ends somebody's work.
  ///
  /// - Returns: who works next; `nil` if nobody waits.
  mutating func end(_ id: Int) -> Int? {
    guard let owner = owners.removeValue(forKey: id) else { return nil }
    let rest = counts[owner, default: 1] - 1
    counts[owner] = rest > 0 ? rest : nil
    guard !waiting.isEmpty else {
      working -= 1
      return nil
    }
    return waiting.removeFirst().id
  }
}
