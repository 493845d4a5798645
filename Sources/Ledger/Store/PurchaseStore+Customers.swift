public import Domain
import EventLoop
import Redis

extension PurchaseStore {
  /// Puts a customer, replacing what was known.
  ///
  /// - Returns: whether the customer is new.
  public func putCustomer(_ publisher: Int64, _ customer: Customer) async throws -> Bool {
    let key = keys.customer(publisher, customer.id)
    let reply = try await redis.run(
      .putCustomer, keys: ["customerKey": key],
      arguments: ["id": String(customer.id), "email": customer.email ?? ""])
    return reply.integer == 1
  }

  /// Reads a customer; `nil` when unknown.
  public func customer(_ publisher: Int64, _ id: Int64) async throws -> Customer? {
    let fields = try await redis.send(["HGETALL", keys.customer(publisher, id)]).hash
    guard fields["id"] != nil else { return nil }
    return Customer(id: id, email: fields["email"].flatMap { $0.isEmpty ? nil : $0 })
  }

  /// Deletes a customer.
  ///
  /// - Returns: whether there was one.
  public func deleteCustomer(_ publisher: Int64, _ id: Int64) async throws -> Bool {
    try await redis.send(["DEL", keys.customer(publisher, id)]).integer == 1
  }
}

extension RedisScript {
  fileprivate static let putCustomer = RedisScript(
    "put customer", keys: ["customerKey"], arguments: ["id", "email"],
    """
    local isNew = redis.call('DEL', customerKey) == 0
    redis.call('HSET', customerKey, 'id', id, 'email', email)
    return isNew and 1 or 0
    """)
}
