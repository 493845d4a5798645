import Domain
import Doors

/// What the callers of the doors may rely on.
extension Verdict {
  mutating func judgeDoors() {
    guard expectations.hasDoors else { return }
    let visits = history.doorVisits
    for door in Chaos.allDoors where !visits.contains(where: { $0.door == door && $0.answer.isPromise }) {
      let answers = visits.filter { $0.door == door }.reduce(into: [:]) { $0["\($1.answer)", default: 0] += 1 }
      problems.append("\(door.rawValue) never gave or accepted anything: \(answers)")
    }
    for visit in visits {
      if case .unexpected(let what) = visit.answer { problems.append("a door answered \(what)") }
    }
    for what in history.unansweredDoors { lost.append("\(what), accepted by a door") }
    for (transaction, visits) in Dictionary(grouping: visits, by: \.transaction) {
      let holders = Set(visits.filter { $0.answer == .granted }.map(\.customer))
      guard let owner = history.doorOwners[transaction] else { continue }
      if owner.isEmpty { lost.append("\(transaction): a door promised it, and nobody owns it") }
      // Cleeng's door moves a purchase; the others refuse.
      if visits[0].door != .cleeng, holders.count > 1 {
        duplicated.append("\(transaction) was given to \(holders.sorted())")
      }
      if visits[0].door != .cleeng, let holder = holders.first, holder != owner {
        duplicated.append("\(transaction) was given to \(holder), and \(owner) owns it")
      }
    }
  }
}

extension Chaos.DoorAnswer {
  fileprivate var isPromise: Bool { self == .granted || self == .accepted }
}
