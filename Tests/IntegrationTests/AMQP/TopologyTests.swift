import AMQP
import Domain
import EventLoop
import Fleets
import Messaging
import ServerSupport
import TestSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct TopologyTests {
  /// Brokers drop a message that returns to a queue by dead-lettering alone. The worker publishes a job anew each
  /// time.
  @Test func `a job that goes round through every tier several times arrives each time`() async throws {
    let topology = Topology(
      prefix: "test-\(UInt64.random(in: 0...UInt64.max))", delays: [.milliseconds(50), .milliseconds(100)])
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let channel = try await connection.openChannel()
    try await topology.declare(on: channel)
    try await topology.declare(on: channel)  // a second time is no error
    try await channel.enableConfirms()
    let received = Mailbox<AMQPDelivery>(of: "delayed jobs")
    try await channel.consume(topology.jobs, tag: "c") { received.put($0) }

    let job = Job(
      synchronizationId: "s", publisherId: 1, customerId: "2", transactionId: "3", registeredAt: 4, traceparent: nil)
    var round = 0
    for _ in 0..<4 {
      for tier in topology.delays {
        round += 1
        try await channel.publish(JobMessage.message(job, attempt: round, queue: topology.jobDelay(tier)))
        let delivery = try await received.wait(for: round)[round - 1]
        let (arrived, attempt) = try JobMessage.read(delivery, doors: DoorCatalog())
        #expect(arrived == job)
        #expect(attempt == round)
        channel.acknowledge(delivery)
      }
    }
    try await channel.cancel("c")
    for queue in topology.queues { try await channel.deleteQueue(queue) }
    await connection.close()
  }

  @Test func `few events of a quiet publisher do not stand behind a burst of another one`() async throws {
    let topology = Topology(prefix: "test-\(UInt64.random(in: 0...UInt64.max))", delays: [.milliseconds(50)])
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let channel = try await connection.openChannel()
    try await topology.declare(on: channel)
    try await channel.enableConfirms()
    // The time stands still: the burst comes in one moment.
    let queues = DeliveryQueues(topology, clock: { .zero })
    func publish(_ name: String, of publisher: PublisherId) async throws {
      try await channel.publish(
        AMQPMessage(exchange: "", routingKey: queues.next(of: publisher), messageID: name, body: Array("{}".utf8)))
    }
    for number in 0..<5_000 { try await publish("burst \(number)", of: 1) }
    try await publish("quiet", of: 2)

    let few = Mailbox<String>(of: "few events")
    try await channel.consume(topology.deliveries(.few), tag: "few") { few.put($0.properties.messageID ?? "") }
    let first = try await few.wait(for: EventPaces.few + 1)
    #expect(first == (0..<EventPaces.few).map { "burst \($0)" } + ["quiet"])
    // Nothing of the burst is lost.
    for (crowd, count) in [(EventCrowd.burst, EventPaces.burst - EventPaces.few), (.flood, 5_000 - EventPaces.burst)] {
      #expect(try await channel.declareQueue(topology.deliveries(crowd), passive: true).messages == count)
    }
    try await channel.cancel("few")
    for queue in topology.queues { try await channel.deleteQueue(queue) }
    await connection.close()
  }

  @Test func `an account that may not configure finds what is there, and names what is missing`() async throws {
    let servers = TestServers.current!
    let user = "reader-\(UInt32.random(in: 0...UInt32.max))"
    try await servers.setPassword(of: user, to: "secret", configure: "^$")
    let topology = Topology(prefix: "test-\(UInt64.random(in: 0...UInt64.max))", delays: [.milliseconds(50)])
    var endpoint = servers.rabbitmq
    (endpoint.user, endpoint.password) = (user, "secret")
    let (own, connection) = (
      try await AMQPConnection.open(servers.rabbitmq, name: "test"), try await AMQPConnection.open(endpoint, name: user)
    )
    let (all, channel) = (try await own.openChannel(), try await connection.openChannel())
    let error = await #expect(throws: AMQPError.self) { try await topology.declare(on: channel) }
    let cause = try #require(error?.cause)
    for name in topology.queues + [topology.events] { #expect(cause.contains(name), "\(cause)") }
    #expect(cause.contains("countersign declare"))

    try await topology.declare(on: all)
    // The caller's channel has survived.
    try await topology.declare(on: channel)
    try await channel.enableConfirms()
    let missing = await #expect(throws: AMQPError.self) {
      try await topology.declareEvents(for: "billing", on: channel)
    }
    #expect(missing?.cause.contains(topology.events(for: "billing")) == true)
    try await topology.declareEvents(for: "billing", on: all)
    try await topology.declareEvents(for: "billing", on: channel)
    for queue in topology.queues { try await all.deleteQueue(queue) }
    await connection.close()
    await own.close()
  }
}
