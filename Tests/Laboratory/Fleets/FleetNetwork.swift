import AMQP
public import EventLoop
import Formats
import Redis

/// The network of a fleet: a proxy between every two processes that talk to each other.
@LoopActor
public final class FleetNetwork {
  /// A pair of processes that talk to each other, for example `worker-1` to `redis`, or `client` to `gateway-2`.
  public struct Link: Hashable, Sendable, CustomStringConvertible {
    public let from: String
    public let to: String

    /// Names a pair.
    public init(_ from: String, _ to: String) {
      self.from = from
      self.to = to
    }

    public var description: String { "\(from) to \(to)" }
  }

  private let simulator: Int
  /// The fleet's database in the ledger.
  private let database: String
  private var proxies: [Link: FaultProxy] = [:]

  init(simulator: Int, receiver: Int, database: String) throws {
    self.simulator = simulator
    self.database = database
    // All notifiers use one address.
    proxies[Link("notifiers", "receiver")] = try FaultProxy(to: receiver)
  }

  /// Every pair, in a fixed order.
  public var links: [Link] { proxies.keys.sorted { $0.description < $1.description } }

  /// The proxy between two processes.
  public subscript(link: Link) -> FaultProxy { proxies[link]! }

  func port(_ link: Link) -> Int? { proxies[link]?.port }

  /// The settings that send a process through proxies of its own; a restarted process gets the same ones.
  func environment(of name: String) throws -> [String: String] {
    let servers = TestServers.current!
    func port(to target: String, _ port: Int) throws -> Int {
      let link = Link(name, target)
      let proxy = try proxies[link] ?? FaultProxy(to: port)
      proxies[link] = proxy
      return proxy.port
    }
    var environment = [
      "COUNTERSIGN_RABBITMQ_URL": servers.rabbitmqURL(port: try port(to: "rabbitmq", servers.rabbitmq.port)),
      "COUNTERSIGN_LEDGER_URL":
        servers.ledgerURL(database: database, ports: [try port(to: "postgres", servers.postgres)]),
    ]
    if !name.hasPrefix("notifier") {
      environment["COUNTERSIGN_REDIS_URL"] = servers.redisURL(port: try port(to: "redis", servers.redis.address.port))
    }
    if name.hasPrefix("worker") {
      let port = try port(to: "apple", simulator)
      environment["COUNTERSIGN_APP_STORE_PRODUCTION_URL"] = "https://127.0.0.1:\(port)/production"
      environment["COUNTERSIGN_APP_STORE_SANDBOX_URL"] = "https://127.0.0.1:\(port)/sandbox"
    }
    return environment
  }

  /// Puts a proxy between clients and a gateway that listens on a port.
  func serve(_ gateway: String, at port: Int) throws {
    let link = Link("client", gateway)
    proxies[link]?.close()
    proxies[link] = try FaultProxy(to: port)
  }

  /// Opens every proxy again.
  public func heal() {
    for proxy in proxies.values { proxy.mode = .open }
  }

  func close() {
    for proxy in proxies.values { proxy.close() }
  }
}
