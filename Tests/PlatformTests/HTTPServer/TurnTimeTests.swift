import Testing

@testable import HTTPServer

/// How long libmicrohttpd works in one turn of the loop.
struct TurnTimeTests {
  @Test func `all runs of a turn share its time`() {
    var time = TurnTime()
    #expect(time.begin(in: 1) == true)
    #expect(!time.isOver)
    time.add(.microseconds(400))
    #expect(time.begin(in: 1) == false)
    time.add(.microseconds(599))
    #expect(!time.isOver)
    #expect(time.begin(in: 1) == false)
    time.add(.microseconds(1))
    #expect(time.isOver)
    #expect(time.begin(in: 1) == false)
    #expect(time.isOver)
  }

  @Test func `the next turn has its own time`() {
    var time = TurnTime()
    #expect(time.begin(in: 1) == true)
    time.add(.seconds(1))
    #expect(time.begin(in: 2) == true)
    #expect(!time.isOver)
  }

  @Test func `a turn without a name is a new one`() {
    var time = TurnTime()
    #expect(time.begin(in: nil) == true)
    time.add(.seconds(1))
    #expect(time.begin(in: nil) == true)
    #expect(!time.isOver)
  }
}
