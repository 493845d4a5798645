public import Domain
import EventLoop
import Formats
import Redis

/// Copies of what the ledger knows about customers. A gateway refills them from the ledger, table `customers`.
///
/// They let registrations of known customers go on while the ledger is away. They expire after some time.
extension PurchaseStore {
  /// How long a copy holds after the gateway last heard of the customer from the ledger.
  static let customerCopy: Duration = .seconds(3600)

  /// Notes that the publisher has put the customer.
  public func noteRegistered(_ publisher: Int64, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.registered))
  }

  /// Notes that the ledger says so, unless there is a note already.
  public func noteStillRegistered(_ publisher: Int64, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.registered) + ["NX"])
  }

  /// Notes that the customer is about to be erased. So no gateway notes as registered what it read before.
  public func noteErased(_ publisher: Int64, _ id: CustomerId) async throws {
    _ = try await redis.send(copy(publisher, id, Self.erased))
  }

  /// Redis' clock, in milliseconds since 1970.
  public func time() async throws -> Int64 {
    let reply = try await redis.send(["TIME"])
    guard let parts = reply.array, parts.count == 2, let seconds = parts[0].string.flatMap({ Int64($0) }),
      let microseconds = parts[1].string.flatMap({ Int64($0) }), (0...Int64.times.upperBound / 1000).contains(seconds),
      (0..<1_000_000).contains(microseconds)
    else { throw unexpected([reply], "TIME") }
    return seconds * 1000 + microseconds / 1000
  }

  private func copy(_ publisher: Int64, _ id: CustomerId, _ value: String) -> [String] {
    ["SET", keys.customer(publisher, id), value, "PX", String(Self.customerCopy.wholeMilliseconds)]
  }

  /// The value of a copy that says: registered.
  nonisolated static let registered = "registered"
  private static let erased = "erased"
}
