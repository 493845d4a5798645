import Domain
import Testing

@testable import Ledger

/// When changed rules count.
struct RulesWatchTests {
  private let old: [UInt8] = [1]
  private let new: [UInt8] = [2]

  @Test func `a new publisher is evaluated at once`() {
    var watch = RulesWatch()
    #expect(watch.look(7, own: new, kept: nil, isOpen: false) == .begin)
  }

  @Test func `equal rules go on where an evaluation stopped`() {
    var watch = RulesWatch()
    #expect(watch.look(7, own: new, kept: new, isOpen: false) == .nothing)
    #expect(watch.look(7, own: new, kept: new, isOpen: true) == .proceed)
  }

  @Test func `a difference counts the second time`() {
    var watch = RulesWatch()
    #expect(watch.look(7, own: new, kept: old, isOpen: false) == .nothing)
    #expect(watch.look(8, own: new, kept: old, isOpen: false) == .nothing)
    #expect(watch.look(7, own: new, kept: old, isOpen: true) == .begin)
  }

  @Test func `a worker that reads the file later begins again, because it told by the old rules`() {
    for isOpen in [true, false] {
      var watch = RulesWatch()
      // Another worker has read the new file already.
      #expect(watch.look(7, own: old, kept: new, isOpen: isOpen) == .nothing)
      #expect(watch.look(7, own: new, kept: new, isOpen: isOpen) == .begin)
      #expect(watch.look(7, own: new, kept: new, isOpen: true) == .proceed)
      #expect(watch.look(7, own: new, kept: new, isOpen: false) == .nothing)
    }
  }

  @Test func `two differences of which none was there twice in a row count as none`() {
    var watch = RulesWatch()
    #expect(watch.look(7, own: old, kept: new, isOpen: false) == .nothing)
    #expect(watch.look(7, own: old, kept: [3], isOpen: false) == .nothing)
  }

  @Test func `another difference is a new one`() {
    var watch = RulesWatch()
    #expect(watch.look(7, own: new, kept: old, isOpen: false) == .nothing)
    #expect(watch.look(7, own: [3], kept: old, isOpen: false) == .nothing)
    #expect(watch.look(7, own: [3], kept: old, isOpen: false) == .begin)
  }
}
