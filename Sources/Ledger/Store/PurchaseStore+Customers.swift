public import Domain
import EventLoop
import Redis

extension PurchaseStore {
  /// Puts a customer in place of the earlier record.
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
    let key = keys.customer(publisher, id)
    let fields = try await redis.send(["HGETALL", key]).hash
    try RecordVersion.check(fields, key: key, "read customer")
    guard fields["id"] != nil else { return nil }
    return Customer(id: id, email: fields["email"].flatMap { $0.isEmpty ? nil : $0 })
  }

  /// Deletes a customer.
  ///
  /// - Returns: whether there was one.
  public func deleteCustomer(_ publisher: Int64, _ id: Int64) async throws -> Bool {
    try await redis.run(.deleteCustomer, keys: ["customerKey": keys.customer(publisher, id)]).integer == 1
  }
}

extension RedisScript {
  fileprivate static let putCustomer = RedisScript(
    "put customer", functions: [.newer], keys: ["customerKey"], arguments: ["id", "email"],
    """
    local refusal = newer(customerKey, redis.call('HGET', customerKey, 'recordVersion'))
    if refusal then return refusal end
    local isNew = redis.call('DEL', customerKey) == 0
    redis.call('HSET', customerKey, 'id', id, 'email', email)
    return isNew and 1 or 0
    """)

  fileprivate static let deleteCustomer = RedisScript(
    "delete customer", functions: [.newer], keys: ["customerKey"],
    """
    return newer(customerKey, redis.call('HGET', customerKey, 'recordVersion')) or redis.call('DEL', customerKey)
    """)
}
