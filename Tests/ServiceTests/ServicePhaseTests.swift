import Service
import Testing

/// The life of a service by value.
struct ServicePhaseTests {
  @Test func `a service starts once, closes once and stops once`() {
    var phase = ServicePhase.new
    let starts = [phase.start(), phase.start()]
    let closes = [phase.close(), phase.close()]
    #expect(phase == .closed)
    let stops = [phase.stop(), phase.stop()]
    #expect(phase == .stopped)
    #expect([starts, closes, stops] == [[true, false], [true, false], [true, false]])
  }

  @Test func `what was closed or stopped before its start never starts`() {
    var closed = ServicePhase.new
    let afterClose = [closed.close(), closed.start()]
    #expect(afterClose == [false, false] && closed == .closed)
    let stop = closed.stop()
    #expect(stop)
    var stopped = ServicePhase.new
    let afterStop = [stopped.stop(), stopped.start(), stopped.close()]
    #expect(afterStop == [true, false, false] && stopped == .stopped)
  }
}
