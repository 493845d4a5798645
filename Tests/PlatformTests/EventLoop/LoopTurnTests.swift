import Testing

@testable import EventLoop

@LoopActor
@Suite struct LoopTurnTests {
  private let timer = LoopWork(.timer, "Redis/RedisConnection.swift")
  private let descriptor = LoopWork(.descriptor, "AMQP/AMQPConnection.swift")

  @Test func `work has a kind and a place`() {
    #expect("\(timer)" == "timer of Redis/RedisConnection.swift")
    #expect("\(descriptor)" == "descriptor of AMQP/AMQPConnection.swift")
    #expect("\(LoopWork.jobs)" == "jobs")
    #expect("\(LoopWork(.endOfTurn, "A/B.swift"))" == "end of turn of A/B.swift")
    #expect("\(LoopWork(.signal, "A/B.swift"))" == "signal of A/B.swift")
    #expect("\(LoopWork(.offloaded, "A/B.swift"))" == "end of blocking work of A/B.swift")
  }

  @Test func `a word is work only with a known kind`() {
    #expect(LoopWork(word: timer.word) == timer)
    #expect(LoopWork(word: 0) == nil)
    #expect(LoopWork(word: 99 << 56) == nil)
  }

  @Test func `the longest piece of a turn is the one that took longest, also if it is the last`() {
    var measure = TurnMeasure(timer, at: 100)
    measure.begin(descriptor, at: 130)
    measure.begin(.jobs, at: 140)
    measure.end(at: 145)
    #expect(measure.longest == timer)
    #expect(measure.longestTime == 30)

    measure = TurnMeasure(timer, at: 100)
    measure.begin(descriptor, at: 130)
    measure.end(at: 200)
    #expect(measure.longest == descriptor)
    #expect(measure.longestTime == 70)
  }

  @Test func `a turn that took no tick names its first piece, and a clock that goes back does no harm`() {
    var measure = TurnMeasure(timer, at: 100)
    measure.begin(descriptor, at: 90)
    measure.end(at: 90)
    #expect(measure.longest == timer)
    #expect(measure.longestTime == 0)
  }
}
