import AMQP
import Coordination
import Domain
import EventLoop
import Formats
import Glibc
import Messaging
import Redis

/// The servers of a run, through the same drivers as the roles, so that a floor includes their cost.
@LoopActor
final class Backend {
  /// The addresses of the servers, and the names of the run in them.
  struct Place {
    let rabbitmq: Int
    let redis: Int
    let prefix: String
    /// The URL of the ledger's database; empty for a run that needs none.
    var ledger = ""

    var broker: AMQPEndpoint { AMQPEndpoint(host: "127.0.0.1", port: rabbitmq) }
    var store: RedisEndpoint { RedisEndpoint(ServerAddress(host: "127.0.0.1", port: redis)) }
  }

  nonisolated static let publisher: PublisherId = 1001
  /// The key prefix of the default configuration: the roles find what a benchmark fills in.
  static let keyPrefix = "cs:"
  static let sweepAfter = Duration.seconds(3600)
  /// The places where a worker would ask Apple, with a budget that never runs out.
  static let places = [Environment.production, .sandbox].map {
    CallPlace(
      bundleId: "com.example.app", environment: $0,
      budgets: ["transaction-info", "subscription-statuses"].map { CallBudget(endpoint: $0, perSecond: 100_000) })
  }

  let claims: TransactionClaims
  let leases: Leases
  let topology: Topology
  let publisher: AMQPPublisher
  let place: Place
  let redis: RedisClient

  init(_ place: Place) {
    self.place = place
    redis = RedisClient(place.store)
    claims = TransactionClaims(redis, prefix: Self.keyPrefix)
    leases = Leases(redis, prefix: Self.keyPrefix)
    let topology = Topology(prefix: place.prefix)
    self.topology = topology
    publisher = AMQPPublisher(
      { [place] in place.broker }, name: "benchmark publishes", onChange: { _ in },
      declare: { channel in
        try await channel.declareQueue(topology.jobs, passive: true)
      })
  }

  /// Connects to both servers.
  func open() async throws {
    redis.start()
    publisher.start()
    for _ in 0..<500 {
      if redis.isReady, publisher.isReady { return }
      try await EventLoop.sleep(for: .milliseconds(20))
    }
    throw Unexpected(description: "no connection to RabbitMQ at \(place.rabbitmq) and Redis at \(place.redis)")
  }

  func close() async {
    await publisher.stop()
    await redis.stop()
  }

  /// Deletes the queue and everything in Redis. A role that starts declares the queue again.
  func deleteAll() async throws {
    let connection = try await AMQPConnection.open(place.broker, name: "benchmark deletes")
    try await connection.openChannel().deleteQueue(topology.jobs)
    await connection.close()
    let redis = try await RedisConnection.open(place.store)
    _ = try await redis.send(["FLUSHALL", "ASYNC"])
    redis.close()
  }

  /// A consumer of the jobs.
  func jobs(prefetch: Int, _ handler: @escaping @LoopActor (AMQPConsumer.Received) -> Void) -> AMQPConsumer {
    AMQPConsumer(
      { [place] in place.broker }, name: "benchmark consumes", queue: topology.jobs,
      prefetch: prefetch, onChange: { _ in }, declare: { _ in }, handler: handler)
  }

  /// A consumer of the events, with a queue of its own that misses nothing while the consumer is there.
  func events(_ handler: @escaping @LoopActor (AMQPConsumer.Received) -> Void) -> AMQPConsumer {
    let (topology, queue) = (topology, "benchmark.events")
    return AMQPConsumer(
      { [place] in place.broker }, name: "benchmark events", queue: queue, prefetch: 1000,
      onChange: { _ in },
      declare: { channel in
        try await channel.declareQueue(queue, arguments: ["x-expires": 60_000])
        try await channel.bindQueue(queue, to: topology.events, routingKey: "#")
      }, handler: handler)
  }

  /// The job of a number: each number has its own active subscription. It usually has its own customer, too, because a
  /// commit locks its customers.
  ///
  /// - Parameters:
  ///   - round: the number of the registration of this subscription, from 1.
  ///   - customers: how many customers share the jobs; 0 if each job has its own.
  static func job(_ number: Int, round: Int = 1, customers: Int = 0) -> Job {
    Job(
      synchronizationId: round == 1 ? "bench-\(number)" : "bench-\(number)-\(round)", publisherId: publisher,
      customerId: CustomerId(customer(customers > 0 ? number % customers : number)),
      transactionId: TransactionId("100\(10_000_000_000 + number)"),
      registeredAt: unixMilliseconds())
  }

  /// The customer of a number.
  nonisolated static func customer(_ number: Int) -> String { "customer-\(number)" }
}

/// The time and the processor time that a process has used so far.
struct Usage {
  let wall = ContinuousClock.now
  let processor: Double

  init() {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    processor = seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// The use between this measurement and a later one, for a number of jobs.
  func until(_ end: Usage, jobs: Int) -> [String: Double] {
    let wall = (end.wall - wall).inSeconds
    return [
      "jobs": Double(jobs), "seconds": wall, "perSecond": Double(jobs) / wall,
      "processorMicroseconds": (end.processor - processor) / Double(jobs) * 1e6,
    ]
  }
}
