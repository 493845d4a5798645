import EventLoop

/// Registers purchases at a gateway over HTTP, as fast as it answers or at a steady rate.
@LoopActor
struct RegisterBenchmark {
  let requests: RegistrationRequests

  /// - Parameter perSecond: 0 for as fast as the connections can. At a rate, a request's time counts from when it was
  ///   due, so that one slow answer shows in all that had to wait for it.
  func run(count: Int, from first: Int, connections: Int, perSecond: Double) async throws -> [String: Double] {
    let open = try (0..<connections).map { _ in try LoadConnection(port: requests.port) }
    defer { for connection in open { connection.close() } }
    // Made before, as the client's work takes from the cores that the gateway is measured on.
    let texts = (0..<count).map { requests.request(first + $0) }
    let start = Usage()
    var next = 0
    var times: [Double] = []
    times.reserveCapacity(count)
    var failure: (any Error)?
    let clients = open.map { connection in
      Task { @LoopActor in
        do {
          while next < count, failure == nil {
            let number = next
            next += 1
            let due = try await start.due(number, perSecond: perSecond)
            let status = try await connection.send(texts[number])
            guard status == 202 else { throw Unexpected(description: "a registration was answered with \(status)") }
            times.append((ContinuousClock.now - due).inSeconds * 1000)
          }
        } catch {
          failure = error
        }
      }
    }
    for client in clients { await client.value }
    if let failure { throw failure }
    return start.until(Usage(), jobs: count).merging(Percentiles(times).members) { $1 }
  }
}

/// How a set of times is spread, in milliseconds.
struct Percentiles {
  private let sorted: [Double]

  init(_ times: [Double]) { sorted = times.sorted() }

  subscript(share: Double) -> Double {
    sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  var members: [String: Double] { ["p50": self[0.5], "p99": self[0.99], "max": sorted.last ?? 0] }
}
