import AMQP
import Domain
import EventLoop
import Messaging

/// Registers one purchase after the other with an idle fleet, and measures the time from each 202 to its event.
@LoopActor
struct LatencyBenchmark {
  let backend: Backend
  let requests: GatewayRequests

  func run(count: Int, from first: Int) async throws -> [String: Double] {
    try await backend.open()
    var arrivals: [String: ContinuousClock.Instant] = [:]
    let arrived = LoopSignal()
    let consumer = backend.events { received in
      arrivals[received.delivery.properties.messageID ?? ""] = .now
      received.acknowledge()
      arrived.notify()
    }
    consumer.start()
    while !consumer.isReady { try await EventLoop.sleep(for: .milliseconds(20)) }
    var answer: CheckedContinuation<Int, any Error>?
    let connection = try LoadConnection(port: requests.port) { _, result in
      let waiter = answer
      answer = nil
      waiter?.resume(with: result)
    }
    defer { connection.close() }
    let start = Usage()
    var times: [Double] = []
    // The first runs also do what happens only once. That is not idle latency, so they do not count.
    for number in -20..<count {
      let job = Backend.job(first + 20 + number)
      let status = try await withCheckedThrowingContinuation { waiter in
        answer = waiter
        connection.send(requests.registration(first + 20 + number))
      }
      let accepted = ContinuousClock.now
      guard status == 202 else { throw Unexpected(description: "a registration was answered with \(status)") }
      let event = Event.id(of: job).text
      while arrivals[event] == nil {
        await arrived.wait(atMost: .seconds(30))
        if ContinuousClock.now - accepted > .seconds(30) { throw Unexpected(description: "no event of \(event) came") }
      }
      if number >= 0 { times.append((arrivals[event]! - accepted).inSeconds * 1000) }
    }
    let result = start.until(Usage(), jobs: count)
    await consumer.stop()
    await backend.close()
    return result.merging(Percentiles(times).members) { $1 }
  }
}
