import Testing

@testable import HTTPServer

/// Which connection keeps libmicrohttpd busy with nothing.
struct StallWatchTests {
  /// Turns of the loop up to the next look.
  private func look(_ watch: inout StallWatch) -> Bool {
    for _ in 1..<StallWatch.turnsBetweenLooks where watch.endTurn(isBusy: true) { return false }
    return watch.endTurn(isBusy: true)
  }

  @Test func `nobody is looked at while libmicrohttpd rests now and then`() {
    var watch = StallWatch()
    for _ in 0..<10 {
      for _ in 1..<StallWatch.turnsBetweenLooks { #expect(watch.endTurn(isBusy: true) == false) }
      #expect(watch.endTurn(isBusy: false) == false)
    }
  }

  @Test func `a connection that stands still between two looks is parked, or cut if bytes wait`() {
    var watch = StallWatch()
    #expect(look(&watch) == true)
    #expect(watch.look(at: 1, calls: 5, waiting: 0) == .moves)
    #expect(watch.look(at: 2, calls: 5, waiting: 9) == .moves)
    #expect(look(&watch) == true)
    #expect(watch.look(at: 1, calls: 5, waiting: 0) == .park)
    #expect(watch.look(at: 2, calls: 5, waiting: 9) == .cut)
  }

  @Test func `calls, fewer bytes and more bytes are signs of life`() {
    var watch = StallWatch()
    #expect(look(&watch) == true)
    for id in 1...3 { #expect(watch.look(at: id, calls: 5, waiting: 9) == .moves) }
    #expect(look(&watch) == true)
    #expect(watch.look(at: 1, calls: 6, waiting: 9) == .moves)
    #expect(watch.look(at: 2, calls: 5, waiting: 8) == .moves)
    #expect(watch.look(at: 3, calls: 5, waiting: 10) == .moves)
  }

  @Test func `a rest forgets what was seen`() {
    var watch = StallWatch()
    #expect(look(&watch) == true)
    #expect(watch.look(at: 1, calls: 5, waiting: 9) == .moves)
    #expect(watch.endTurn(isBusy: false) == false)
    #expect(look(&watch) == true)
    #expect(watch.look(at: 1, calls: 5, waiting: 9) == .moves)
  }
}
