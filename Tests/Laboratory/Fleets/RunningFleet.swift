public import AMQP
import Crypto
public import Domain
public import EventLoop
import Formats
import FoundationEssentials
import Glibc
import HTTP
import HTTPClient
import HTTPServer
public import Messaging
import Postgres
public import Simulator
public import TestSupport

/// A whole fleet for one test: the roles as processes, against the shared servers, with names of its own in them.
@LoopActor
public final class RunningFleet {
  /// The executable of this build.
  public nonisolated static let thisBuild = Repository.products + "/countersign"
  public nonisolated static let publisher: PublisherId = 1001
  public nonisolated static let openPublisher: PublisherId = 1002
  public nonisolated static let inactivePublisher: PublisherId = 1003
  public nonisolated static let tokens: [PublisherId: String] = [
    1001: "token-one", 1002: "token-two", 1003: "token-three",
  ]

  /// The token of a publisher, also of one that a test has made up.
  public nonisolated static func token(of publisher: PublisherId) -> String {
    tokens[publisher] ?? "token-\(publisher)"
  }
  public nonisolated static let jwtSecret = "a secret of the publisher, at least 32 bytes long"

  /// An event as the subscriber got it.
  public struct Event: Sendable {
    public let id: String
    public let version: Int64
    public let traceparent: String
    public let body: [UInt8]
    /// The synchronization it tells about.
    public let synchronizationId: String
    public let result: String
    public let accessGranted: Bool
    public let environment: String?
    public let offerId: String?
    public let customerId: String
    /// The purchase; `nil` when none was found.
    public let originalTransactionId: String?
    public let isConsumable: Bool
  }

  /// A request that the webhook endpoint got, with a good signature.
  public struct Webhook: Sendable {
    public let id: String
    public let isVerified: Bool
    public let traceparent: String
    public let body: [UInt8]

    /// The data of its event; `nil` when the body is no event.
    public var told: (synchronizationId: String, result: String)? {
      (try? JSONDecoder().decode(Envelope.self, from: Data(body))).map { ($0.data.synchronizationId, $0.data.result) }
    }
  }

  public let prefix: String
  /// The name of its database in the ledger.
  public nonisolated var database: String { prefix }
  public let folder: String
  public let topology: Topology
  public let events = Mailbox<Event>(of: "events of synchronizations")
  /// The changes of entitlements, as the subscriber got them.
  public let changes = Mailbox<EntitlementChange>(of: "changes of entitlements")
  public let webhooks = Mailbox<Webhook>(of: "webhooks")
  /// What the webhook endpoint answers, by the number of the request from 1.
  public var webhookStatus: @LoopActor (Int) -> Int = { _ in 200 }
  public private(set) var roles: [String: RoleProcess] = [:]
  /// The files of the logs of all processes.
  private(set) var logs: [String] = []
  public let simulator: Simulator
  /// The address of the webhook endpoint.
  public private(set) var webhookURL = ""

  let client: HTTPClient
  /// Opens a connection for each request.
  let freshClient: HTTPClient
  private var receiver: HTTPServer!
  private var subscriber: AMQPConsumer!
  private let secret: [UInt8]
  private let overrides: [String: String]
  /// The executable of the roles that start from now on. A test of an upgrade changes it.
  public var executable: String
  /// The connection of what tests read in the ledger.
  var ledgerReader: PostgresClient?
  let hasStandby: Bool
  let hasDoors: Bool
  /// Whether configuration and logs stay after the fleet has closed, so that a person can look for the cause.
  public var keepsFolder = false
  /// Whether sweeps may have something to repair, because the test breaks a part of the fleet.
  public var mayRepair = false
  /// The sweeps that are the only way of something in this fleet, and repair nothing. All others stay idle.
  public var sweptWays: Set<Repair> = []
  /// The proxies between the parts; `nil` without `throughProxies`.
  public private(set) var network: FleetNetwork?

  /// Starts a fleet, runs a body, and stops everything, also when the body throws.
  ///
  /// - Parameters:
  ///   - names: the roles to start, each a role's name and a number.
  ///   - overrides: environment variables for the roles.
  ///   - throughProxies: whether a ``FaultProxy`` stands between every two parts.
  ///   - hasStandby: whether the URL of the ledger names its standby too.
  ///   - hasDoors: whether ``publisher`` has opened the four doors. Each of them makes events of its own.
  ///   - lifeMonth: how long a month of the simulator's lives takes.
  ///   - executable: that of the roles and of the ledger's migration.
  ///   - prepare: called before the roles start.
  public static func with(
    _ names: [String] = ["gateway-1", "gateway-2", "worker-1", "worker-2", "notifier-1", "notifier-2"],
    overrides: [String: String] = [:], throughProxies: Bool = false, hasStandby: Bool = false,
    hasDoors: Bool = true, lifeMonth: Duration = .seconds(60), executable: String = thisBuild,
    prepare: @LoopActor (RunningFleet) throws -> Void = { _ in },
    _ body: @LoopActor (RunningFleet) async throws -> Void
  ) async throws {
    let fleet = try await RunningFleet(
      overrides: overrides, throughProxies: throughProxies, hasStandby: hasStandby, hasDoors: hasDoors,
      lifeMonth: lifeMonth, executable: executable)
    fleet.mayRepair = throughProxies || breaks(overrides)
    do {
      try await fleet.createLedger()
      try prepare(fleet)
      for name in names { try fleet.start(name) }
      for name in names { try await fleet.ready(name) }
      try await fleet.subscribed()
      if names.contains("gateway-1") { _ = try await fleet.putCustomer(7) }
      try await body(fleet)
      try await fleet.requireIdleSweeps()
    } catch {
      try? await TestServers.current?.mend()
      try? await fleet.close()
      throw error
    }
    try await fleet.close()
  }

  private init(
    overrides: [String: String], throughProxies: Bool, hasStandby: Bool, hasDoors: Bool, lifeMonth: Duration,
    executable: String
  ) async throws {
    self.overrides = overrides
    self.executable = executable
    self.hasStandby = hasStandby
    self.hasDoors = hasDoors
    prefix = "test-\(UInt32.random(in: 0...UInt32.max))"
    folder = FileManager.default.temporaryDirectory.path + "/countersign-\(prefix)"
    try FileManager.default.createDirectory(atPath: folder + "/publishers", withIntermediateDirectories: true)
    secret = try secureRandomBytes(32)
    var configuration = HTTPClientConfiguration.patient
    configuration.allowsPlainHTTP = true
    configuration.maxConnectionsPerHost = 50
    client = HTTPClient(configuration)
    configuration.keepsConnections = false
    // A request that waits at a door must not keep others from their connections.
    configuration.maxConnectionsPerHost = 2000
    freshClient = HTTPClient(configuration)
    var simulated = Simulator.Configuration(
      folder: folder + "/simulator", tlsNames: ["127.0.0.1", "localhost"],
      apps: [
        Simulator.App(bundleId: "com.example.app", appAppleId: 1_234_567_890, issuerId: "issuer", keyId: "KEY1"),
        Simulator.App(bundleId: "com.example.other", appAppleId: 987_654_321, issuerId: "issuer", keyId: "KEY1"),
      ])
    simulated.lifeMonth = lifeMonth
    simulator = try Simulator(simulated)
    try await simulator.start()
    topology = Topology(prefix: prefix)
    receiver = try HTTPServer(.unlimited) { [weak self] in self?.receive($0) ?? .text(503, "") }
    if throughProxies {
      network = try FleetNetwork(simulator: simulator.port, receiver: receiver.port, database: database)
    }
    webhookURL = "http://127.0.0.1:\(network?.port(FleetNetwork.Link("notifiers", "receiver")) ?? receiver.port)/hook"
    try writeConfiguration(secret: secret)
    let (topology, queue) = (topology, prefix + ".subscriber")
    subscriber = AMQPConsumer(
      { TestServers.current!.rabbitmq }, name: "subscriber", queue: queue, prefetch: 100,
      probe: AMQPProbe(queue: topology.probe), onChange: { _ in },
      declare: { channel in
        try await topology.declare(on: channel)
        try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        for topic in ["inappPurchaseSyncResult", EntitlementChange.topic] {
          try await channel.bindQueue(queue, to: topology.events, routingKey: topic + ".*")
        }
      },
      handler: { [weak self] in self?.receive($0) })
    subscriber.start()
  }

  /// Ends everything that the fleet has started.
  ///
  /// - Throws: `NeverHappened` when a role did not stop and was killed.
  private func close() async throws {
    for role in roles.values { role.process.send(SIGCONT) }
    for role in roles.values { role.process.send(SIGTERM) }
    var late: NeverHappened?
    for role in roles.values {
      do { try await role.process.ended() } catch {
        late = NeverHappened(description: "\(error)")
        await role.process.kill()
      }
    }
    await subscriber.stop()
    await receiver.close()
    await simulator.close()
    network?.close()
    client.close()
    freshClient.close()
    await deleteQueues()
    await closeLedgerReader()
    await dropLedger()
    if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
    if let late { throw late }
  }

  private func deleteQueues() async {
    guard let connection = try? await AMQPConnection.open(TestServers.current!.rabbitmq, name: "clean up") else {
      return
    }
    if let channel = try? await connection.openChannel() {
      for queue in topology.queues + [prefix + ".subscriber"] { try? await channel.deleteQueue(queue) }
    }
    await connection.close()
  }

  /// Waits until the subscriber's queue is there; without it, the broker drops what a worker publishes.
  public func subscribed() async throws {
    try await eventually("the subscriber is ready") { self.subscriber.isReady }
  }

  // MARK: Roles

  /// A role's process.
  public struct RoleProcess: Sendable {
    public let process: ChildProcess
    public let log: String
    /// Host and port of its HTTP endpoints, once it listens.
    public var address = ""
  }

  /// Starts a role, for example `worker-1`; each start has a log of its own.
  ///
  /// - Parameter words: the words of the command, if not the role and its configuration.
  public func start(_ name: String, with more: [String: String] = [:], words: [String]? = nil) throws {
    if Self.breaks(more) { mayRepair = true }
    let role = String(name.prefix { $0 != "-" })
    let log = "\(folder)/\(name)-\(UInt32.random(in: 0...UInt32.max)).log"
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("COUNTERSIGN_") }
    environment.merge(overrides) { $1 }
    environment.merge(try network?.environment(of: name) ?? [:]) { $1 }
    environment.merge(more) { $1 }
    let process = try ChildProcess(
      executable, words ?? [role, "--config", folder + "/countersign.json"],
      environment: environment, output: log)
    roles[name] = RoleProcess(process: process, log: log)
    logs.append(log)
  }

  /// Waits until a role has an address, ready or not.
  public func listens(_ name: String) async throws {
    try await eventually("\(name) listens") {
      guard let role = self.roles[name], let address = self.listening(role.log) else { return false }
      self.roles[name]?.address = address
      return true
    }
  }

  /// Waits until a role says that it is ready.
  public func ready(_ name: String) async throws {
    try await eventually("\(name) is ready") {
      guard let role = self.roles[name] else { return false }
      if let status = role.process.status {
        throw ChildProcess.Failure(description: "\(name) ended with \(status): \(self.text(of: role.log).suffix(500))")
      }
      return try await self.isReady(name)
    }
  }

  /// Whether a role says that it is ready.
  public func isReady(_ name: String) async throws -> Bool {
    guard let role = roles[name], role.process.status == nil else { return false }
    if role.address.isEmpty {
      guard let address = listening(role.log) else { return false }
      roles[name]?.address = address
      if name.hasPrefix("gateway"), let port = address.split(separator: ":").last.flatMap({ Int($0) }) {
        try network?.serve(name, at: port)
      }
    }
    return (try? await get("http://\(roles[name]!.address)/readyz").status) == 200
  }

  /// Kills roles with SIGKILL and waits until they are gone.
  public func kill(_ names: String...) async { await kill(names) }

  /// Kills roles with SIGKILL and waits until they are gone.
  public func kill(_ names: [String]) async {
    mayRepair = true
    for name in names { roles[name]?.process.send(SIGKILL) }
    for name in names { await roles[name]?.process.kill() }
  }

  /// Closes a user's connections to the three servers, and with them what was under way on each.
  public func disconnect(_ user: String) async throws {
    mayRepair = true
    try await TestServers.current!.disconnect(user)
  }

  // MARK: What comes back

  private func receive(_ received: AMQPConsumer.Received) {
    received.acknowledge()
    let delivery = received.delivery
    if let change = EntitlementChange(delivery) { return changes.put(change) }
    guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(delivery.body)) else { return }
    events.put(
      Event(
        id: delivery.properties.messageID ?? "", version: delivery.properties.headers["version"]?.int ?? 0,
        traceparent: delivery.properties.headers["traceparent"]?.string ?? "",
        body: delivery.body, synchronizationId: envelope.data.synchronizationId, result: envelope.data.result,
        accessGranted: envelope.data.accessGranted, environment: envelope.data.environment,
        offerId: envelope.data.offerId, customerId: envelope.data.customerId,
        originalTransactionId: envelope.data.originalTransactionId, isConsumable: envelope.data.type != nil))
  }

  /// The synchronization that a published event tells about; `nil` for other events.
  public static func synchronizationId(of delivery: AMQPDelivery) -> String? {
    (try? JSONDecoder().decode(Envelope.self, from: Data(delivery.body)))?.data.synchronizationId
  }

  fileprivate struct Envelope: Decodable {
    let data: Content
    struct Content: Decodable {
      let synchronizationId: String
      let result: String
      let accessGranted: Bool
      let environment: String?
      let offerId: String?
      let customerId: String
      let originalTransactionId: String?
      let type: String?
    }
  }

  /// Checks a webhook as strictly as a customer who reads Standard Webhooks.
  private func receive(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let id = request.header("webhook-id") ?? ""
    let timestamp = request.header("webhook-timestamp") ?? ""
    let expected = HMACSHA256.authenticate(Array("\(id).\(timestamp).".utf8) + request.body, key: secret)
    let isRecent = Int64(timestamp).map { abs($0 - Int64(time(nil))) <= 300 } ?? false
    let isVerified =
      request.method == "POST" && request.header("content-type") == "application/json" && isRecent
      && request.header("webhook-signature") == "v1," + Base64.encode(expected)
    webhooks.put(
      Webhook(
        id: id, isVerified: isVerified, traceparent: request.header("traceparent") ?? "", body: request.body))
    return .text(webhookStatus(webhooks.all.count), "")
  }
}
