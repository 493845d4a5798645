import AMQP
public import EventLoop
import Redis

/// The network of a fleet: a proxy between every two parts that talk to each other.
@LoopActor
public final class FleetNetwork {
  /// A kind of role and what it talks to, for example `worker` and `redis`.
  public struct Link: Hashable, Sendable, CustomStringConvertible {
    public let role: String
    public let target: String

    /// Names a pair.
    public init(role: String, target: String) {
      self.role = role
      self.target = target
    }

    public var description: String { "\(role)-\(target)" }
  }

  private var proxies: [Link: FaultProxy] = [:]

  init(simulator: Int, receiver: Int) throws {
    let servers = TestServers.current!
    for role in ["gateway", "worker", "notifier"] {
      proxies[Link(role: role, target: "rabbitmq")] = try FaultProxy(to: servers.rabbitmq.port)
    }
    for role in ["gateway", "worker"] {
      proxies[Link(role: role, target: "redis")] = try FaultProxy(to: servers.redis.port)
    }
    proxies[Link(role: "worker", target: "apple")] = try FaultProxy(to: simulator)
    proxies[Link(role: "notifier", target: "receiver")] = try FaultProxy(to: receiver)
  }

  /// Every pair, in a fixed order.
  public var links: [Link] { proxies.keys.sorted { $0.description < $1.description } }

  /// What is between two parts.
  public subscript(link: Link) -> FaultProxy { proxies[link]! }

  func port(_ role: String, _ target: String) -> Int? { proxies[Link(role: role, target: target)]?.port }

  /// What a role has to be told to go through the proxies.
  func environment(of role: String) -> [String: String] {
    var environment: [String: String] = [:]
    if let port = port(role, "rabbitmq") {
      environment["COUNTERSIGN_RABBITMQ_URL"] = "amqp://guest:guest@127.0.0.1:\(port)/%2F"
    }
    if let port = port(role, "redis") { environment["COUNTERSIGN_REDIS_URL"] = "redis://127.0.0.1:\(port)/0" }
    if let port = port(role, "apple") {
      environment["COUNTERSIGN_APP_STORE_PRODUCTION_URL"] = "https://127.0.0.1:\(port)/production"
      environment["COUNTERSIGN_APP_STORE_SANDBOX_URL"] = "https://127.0.0.1:\(port)/sandbox"
    }
    return environment
  }

  /// Makes everything go through again.
  public func heal() {
    for proxy in proxies.values { proxy.mode = .open }
  }

  func close() {
    for proxy in proxies.values { proxy.close() }
  }
}
