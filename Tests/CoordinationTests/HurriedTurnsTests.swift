import Domain
import Testing

@testable import Coordination

/// The turns of jobs that a person does not let wait.
struct HurriedTurnsTests {
  @Test func `each publisher has turns of its own, from the first one on`() {
    var turns = HurriedTurns()
    let found = [7, 7, 7, 9, 7, 9].map { turns.next(of: $0) }
    #expect(found == [1, 2, 3, 1, 4, 2])
  }

  @Test func `no turn lies behind the first day of 1970`() {
    #expect(HurriedTurns.last == 24 * 3600 * 1000)
    #expect(HurriedTurns.last > Int64(MeantJobs.most))
  }
}
