public import AMQP
import Configuration
import EventLoop
public import Ledger
import Observability
public import Postgres
import Redis

extension RoleContext {
  /// Returns a function that logs and counts the changes of a broker connection.
  public func observer(of connection: String) -> @LoopActor (AMQPSession.Change) -> Void {
    let log = ConnectionLog(self, connection)
    return { [self] change in
      switch change {
      case .connected: log.connected()
      case .blocked(let isBlocked):
        connectionUp.set(isBlocked ? 0 : 1, connection)
        self.log.warning("broker alarm", ["connection": .string(connection), "blocked": .bool(isBlocked)])
      case .lost(let error, let delay): log.ended(error, delay)
      case .reopening(let error): log.ended(error, .zero)
      }
    }
  }

  /// Returns a Redis client. The context logs and counts the changes of its connections.
  ///
  /// - Parameter onConnect: called after each connection.
  func makeRedis(onConnect: @escaping @LoopActor () -> Void) -> RedisClient {
    let log = ConnectionLog(self, "redis")
    setRefusal(nil)
    let endpoint: @LoopActor () -> RedisEndpoint = { [self] in RedisEndpoint(settings.redis) }
    return RedisClient(endpoint) { [self] change in
      switch change {
      case .connected:
        setRefusal(nil)
        onConnect()
        log.connected()
      case .lost(let error, let delay):
        setRefusal((error as? RedisError)?.refusal)
        log.ended(error, delay)
      case .refusing(let error):
        setRefusal(error.refusal)
        self.log.error("Redis refuses writes", ["cause": .failure(error)])
      case .writable:
        setRefusal(nil)
        self.log.info("Redis accepts writes again")
      }
    }
  }

  /// Returns a client of the ledger. The context logs and counts the changes of its connections.
  ///
  /// - Parameters:
  ///   - statementTimeout: PostgreSQL breaks off a statement that takes longer; `nil` for no limit of its own.
  ///   - onChange: called after each change, for a role that does other work while the ledger is away.
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`.
  public func makeLedger(
    statementTimeout: Duration? = nil, onChange: @escaping @LoopActor () -> Void = {}
  ) throws -> PostgresClient {
    let log = ConnectionLog(self, "ledger")
    let first = try PostgresEndpoint(settings.ledger, name: "countersign \(role)")
    let present: @LoopActor () -> PostgresEndpoint = { [self] in
      // A reading of the configuration has checked the URL.
      var endpoint = (try? PostgresEndpoint(settings.ledger, name: "countersign \(role)")) ?? first
      endpoint.sessionSettings = Commits.sessionSettings
      if let statementTimeout {
        endpoint.sessionSettings.append(("statement_timeout", "\(statementTimeout.wholeMilliseconds)"))
      }
      return endpoint
    }
    return PostgresClient(present, connections: settings.ledger.connections) { change in
      switch change {
      case .connected: log.connected()
      case .lost(let error, let delay): log.ended(error, delay)
      }
      onChange()
    }
  }

  /// Returns the store of webhook endpoints, with the keys of the last good reading.
  public func makeEndpointStore(_ postgres: PostgresClient) -> WebhookEndpointStore {
    WebhookEndpointStore(postgres, refusesPlain: settings.ledger.refusesPlainSecrets, doors: doors) { [self] in
      secretKeys
    }
  }

  private func setRefusal(_ refusal: RedisRefusal?) {
    for each in RedisRefusal.allCases { refusedWrites.set(each == refusal ? 1 : 0, each.rawValue) }
  }
}

/// The lines and the numbers of one connection.
@LoopActor
private final class ConnectionLog {
  private let context: RoleContext
  private let name: String
  private var state = ConnectionState()

  init(_ context: RoleContext, _ name: String) {
    self.context = context
    self.name = name
    context.connectionUp.set(0, name)
    context.connectionLosses.add(0, name)
    context.starting.expect(name)
  }

  func connected() {
    state.connected()
    context.connectionUp.set(1, name)
    context.log.info("connected", ["connection": .string(name)])
    context.starting.connected(name)
  }

  /// Counts each end, and logs an end that no earlier line has told.
  func ended(_ error: any Error, _ delay: Duration) {
    context.connectionUp.set(0, name)
    context.connectionLosses.count(name)
    defer { context.starting.failed(name, error) }
    guard let event = state.ended("\(error)") else { return }
    context.log.warning(
      event.rawValue,
      [
        "connection": .string(name), "cause": .failure(error),
        "retryInMilliseconds": .int(Int64(delay.wholeMilliseconds)),
      ])
  }
}
