public import Domain
public import EventLoop
public import Redis

/// Copies of what the ledger knows about customers. A gateway refills them from the ledger, table `customers`.
///
/// They let registrations of known customers go on while the ledger is away. They expire after some time. Every method
/// throws `RedisError`. After an error the command may have run or not.
@LoopActor
public final class CustomerCopies {
  private let redis: RedisClient
  private let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// How long a copy holds after the gateway last heard of the customer from the ledger.
  private static let lifetime: Duration = .seconds(3600)

  /// Notes that the publisher has put the customer.
  public func noteRegistered(_ publisher: PublisherId, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.registered))
  }

  /// Notes that the ledger says so, unless there is a note already.
  public func noteStillRegistered(_ publisher: PublisherId, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.registered) + ["NX"])
  }

  /// Notes that the customer is about to be erased. So no gateway notes as registered what it read before.
  ///
  /// The set of the customer's open synchronizations goes, too: its key has the customer's id. An end that finds no set
  /// takes nothing out.
  public func noteErased(_ publisher: PublisherId, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.erased))
    _ = try await redis.send(["DEL", keys.open(publisher, id)])
  }

  private func copy(_ publisher: PublisherId, _ id: CustomerId, _ value: String) -> [String] {
    ["SET", keys.customer(publisher, id), value, "PX", String(Self.lifetime.wholeMilliseconds)]
  }

  /// The value of a copy that says: registered.
  nonisolated static let registered = "registered"
  private static let erased = "erased"
}
