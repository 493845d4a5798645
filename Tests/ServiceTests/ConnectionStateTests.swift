import Testing

@testable import Service

/// The log lines of a connection that comes and goes.
struct ConnectionStateTests {
  @Test func `a connection that cannot be made was not lost, and is told once`() {
    var state = ConnectionState()
    #expect(state.ended("refused") == .failed)
    #expect(state.ended("refused") == nil)
    #expect(state.ended("refused") == nil)
  }

  @Test func `another cause is told`() {
    var state = ConnectionState()
    #expect(state.ended("refused") == .failed)
    #expect(state.ended("no route") == .failed)
    #expect(state.ended("no route") == nil)
    #expect(state.ended("refused") == .failed)
  }

  @Test func `a loss is told each time, and what follows it once`() {
    var state = ConnectionState()
    for _ in 0..<2 {
      state.connected()
      #expect(state.ended("reset") == .lost)
      #expect(state.ended("reset") == .failed)
      #expect(state.ended("reset") == nil)
    }
  }
}
