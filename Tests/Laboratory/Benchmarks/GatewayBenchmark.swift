import EventLoop

/// Sends requests to a gateway, as fast as it answers or at a steady rate.
@LoopActor
struct GatewayBenchmark {
  let port: Int
  /// The status of each answer.
  let expected: Int

  /// - Parameters:
  ///   - texts: the requests. They exist before the run, because the client shares the cores with the gateway under
  ///     measurement.
  ///   - perSecond: 0 sends as fast as the connections can. At a rate, a request's time counts from the moment when it
  ///     was due, so one slow answer shows in every request that waited for it.
  ///   - onDue: called with the number of each request and the moment when it was due.
  func run(
    _ texts: [[UInt8]], connections: Int, perSecond: Double,
    onDue: @escaping @LoopActor (Int, ContinuousClock.Instant) -> Void = { _, _ in }
  ) async throws -> [String: Double] {
    let count = texts.count
    var times: [Double] = []
    times.reserveCapacity(count)
    var failure: (any Error)?
    let ended = LoopSignal()
    var (next, working) = (0, connections)
    var start = Usage()

    func fail(_ error: any Error) {
      failure = failure ?? error
      ended.notify()
    }
    func sendNext(on connection: LoadConnection) {
      guard failure == nil else { return }
      guard next < count else {
        working -= 1
        if working == 0 { ended.notify() }
        return
      }
      let number = next
      next += 1
      // Without a pace there is nothing to wait for, and a task would be the load's largest cost.
      guard perSecond > 0 else {
        connection.due = .now
        onDue(number, connection.due)
        return connection.send(texts[number])
      }
      Task { @LoopActor in
        do { connection.due = try await start.due(number, perSecond: perSecond) } catch { fail(error) }
        onDue(number, connection.due)
        if failure == nil { connection.send(texts[number]) }
      }
    }

    let open = try (0..<connections).map { _ in
      try LoadConnection(port: port) { connection, answer in
        switch answer {
        case .success(expected):
          times.append((ContinuousClock.now - connection.due).inSeconds * 1000)
          sendNext(on: connection)
        case .success(let status):
          fail(Unexpected(description: "a request was answered with \(status)"))
        case .failure(let error): fail(error)
        }
      }
    }
    defer { for connection in open { connection.close() } }
    start = Usage()
    for connection in open { sendNext(on: connection) }
    while working > 0, failure == nil { await ended.wait(atMost: .seconds(3600)) }
    if let failure { throw failure }
    return start.until(Usage(), jobs: count).merging(Percentiles(times).members) { $1 }
  }
}

/// The spread of a set of times, in milliseconds.
struct Percentiles {
  private let sorted: [Double]

  init(_ times: [Double]) { sorted = times.sorted() }

  subscript(share: Double) -> Double {
    sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }

  var members: [String: Double] { ["p50": self[0.5], "p99": self[0.99], "max": sorted.last ?? 0] }
}
