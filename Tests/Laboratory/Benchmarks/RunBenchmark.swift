import Domain
import EventLoop
import Glibc

/// The command line of one run.
struct Arguments: Sendable {
  private let words: [String]

  init(_ words: some Sequence<String>) { self.words = Array(words) }

  var benchmark: String { words.first ?? "" }

  func text(_ name: String) -> String? {
    guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
    return words[index + 1]
  }

  func number(_ name: String, default value: Double) -> Double { text(name).flatMap { Double($0) } ?? value }
}

/// Runs what the arguments ask for, prints the measurements, and returns the exit status.
@LoopActor
func runBenchmark(_ arguments: Arguments) async -> Int32 {
  func count(_ name: String, _ value: Double) -> Int { Int(arguments.number(name, default: value)) }
  func backend() -> Backend {
    Backend(
      Backend.Place(
        rabbitmq: count("--rabbitmq", 5672), redis: count("--redis", 6379),
        prefix: arguments.text("--prefix") ?? "countersign", ledger: arguments.text("--ledger") ?? ""))
  }
  func requests() -> GatewayRequests {
    GatewayRequests(port: count("--gateway", 8080), token: arguments.text("--token") ?? "")
  }
  /// Customers in a random order, the same in each run.
  func customers() -> [Int] {
    var random = SteadyRandom()
    let first = count("--from", 0)
    let all = first..<first + count("--of", 10_000)
    return (0..<count("--count", 10_000)).map { _ in Int.random(in: all, using: &random) }
  }
  func notifications() throws -> SignedNotifications {
    try SignedNotifications(
      file: arguments.text("--file") ?? "", from: count("--from", 0), count: count("--count", 1000))
  }
  do {
    let result: [String: Double]
    switch arguments.benchmark {
    case "verify":
      result = try VerifyBenchmark().run(
        seconds: arguments.number("--seconds", default: 3), count: count("--count", 1e12))
    case "strangers": result = try StrangersBenchmark().run()
    case "fill":
      result = try await FillBenchmark(
        backend: backend(), round: count("--round", 1), customers: count("--customers", 0),
        sweepAfter: .seconds(count("--sweep-after", Backend.sweepAfter / .seconds(1)))
      ).run(
        count: count("--count", 10_000), from: count("--from", 0), concurrency: count("--concurrency", 500),
        perSecond: arguments.number("--rate", default: 0))
    case "delete":
      try await backend().deleteAll()
      result = [:]
    case "floor":
      result = try await FloorBenchmark(backend: backend()).run(
        count: count("--count", 10_000), first: count("--first", 0), prefetch: count("--prefetch", 1000))
    case "register":
      let first = count("--from", 0)
      let requests = requests()
      result = try await GatewayBenchmark(port: requests.port, expected: 202).run(
        (first..<first + count("--count", 10_000)).map(requests.registration),
        connections: count("--connections", 64), perSecond: arguments.number("--rate", default: 0))
    case "delay":
      let (requests, first, size) = (requests(), count("--from", 0), count("--count", 1000))
      let jobs = (first..<first + size).map { Backend.job($0) }
      result = try await DelayBenchmark(
        backend: backend(), port: requests.port, expected: 202, name: DelayBenchmark.id
      ).run(
        (first..<first + size).map(requests.registration), names: jobs.map { Event.id(of: $0).text },
        connections: count("--connections", 64), perSecond: arguments.number("--rate", default: 100))
    case "keep":
      result = try await KeepBenchmark(backend: backend(), wakes: count("--wakes", 0) == 1).run(
        notifications(), from: count("--from", 0), inFlight: count("--connections", 200))
    case "notify":
      let (port, notifications) = (requests().port, try notifications())
      result = try await GatewayBenchmark(port: port, expected: 200).run(
        notifications.requests(port: port), connections: count("--connections", 200), perSecond: 0)
    case "tell":
      let (port, notifications) = (requests().port, try notifications())
      result = try await DelayBenchmark(
        backend: backend(), port: port, expected: 200, name: DelayBenchmark.customer
      ).run(
        notifications.requests(port: port), names: notifications.lines.map(\.customerId),
        connections: count("--connections", 200), perSecond: arguments.number("--rate", default: 100))
    case "read":
      let requests = requests()
      result = try await GatewayBenchmark(port: requests.port, expected: 200).run(
        customers().map(requests.entitlements), connections: count("--connections", 64), perSecond: 0)
    case "statement":
      result = try StatementBenchmark(
        url: arguments.text("--ledger") ?? "", sql: arguments.text("--sql") ?? "",
        connections: count("--ledger-connections", 2), inFlight: count("--connections", 64)
      ).run(customers())
    case "latency":
      result = try await LatencyBenchmark(backend: backend(), requests: requests()).run(
        count: count("--count", 300), from: count("--from", 0))
    case "receive": result = try await LoadReceiver().run(port: count("--port", 0))
    case "endpoints":
      result = try await WebhookBenchmarks(backend: backend()).makeEndpoints(
        count("--count", 100), from: count("--first-endpoint", 0), receiver: count("--receiver", 0),
        path: arguments.text("--path") ?? "h", bad: count("--bad", 0) == 1)
    case "events":
      let endpoint = count("--first-endpoint", 0)
      let floor = arguments.text("--floor")
      guard floor == nil || floor.flatMap(BurstFloor.init(rawValue:)) != nil else {
        throw Unexpected(description: "--floor is direct or delayed")
      }
      result = try await WebhookBenchmarks(backend: backend()).publish(
        count("--count", 10_000), from: count("--from", 0),
        endpoints: endpoint..<endpoint + count("--endpoints", 100), perSecond: arguments.number("--rate", default: 0),
        inOneQueue: count("--one-queue", 0) == 1, floor: floor.flatMap(BurstFloor.init(rawValue:)))
    case "consume": result = try await WebhookBenchmarks(backend: backend()).consume(count("--count", 10_000))
    case "post":
      result = try await WebhookBenchmarks(backend: backend()).post(
        count("--count", 10_000), receiver: count("--receiver", 0), concurrency: count("--concurrency", 100))
    default:
      throw Unexpected(
        description:
          "benchmarks: verify, strangers, fill, delete, floor, register, delay, keep, notify, tell, read, statement, "
          + "latency, receive, endpoints, events, consume, post")
    }
    let members = result.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
    print("{" + members.joined(separator: ",") + "}")
    return 0
  } catch {
    let text = "benchmarks: \(error)\n"
    _ = write(STDERR_FILENO, text, text.utf8.count)
    return 1
  }
}
