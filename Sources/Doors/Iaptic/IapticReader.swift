import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import Ledger

/// Reads what iaptic's API for backends answers, for one publisher.
@LoopActor
struct IapticReader {
  let door: DoorContext
  let publisher: Publisher
  let policy: DoorPolicy

  /// A page of customers, with the purchases that decide about their access.
  struct Page {
    let skip: Int
    let limit: Int
    let total: Int64
    let rows: [Row]
  }

  /// A customer under the name that the caller uses.
  struct Row {
    let user: String
    let found: CustomerPurchases
  }

  /// The customer's id of a user.
  func id(of user: String) -> CustomerId { policy.customerId(of: user) }

  /// - Throws: ``IapticReadError``, as every function here does.
  func customer(_ user: String) throws(IapticReadError) -> CustomerKey {
    let id = id(of: user)
    guard id.isValid else { throw .invalid("applicationUsername: \(CustomerId.expectation)") }
    return CustomerKey(publisherId: publisher.id, id: id)
  }

  /// All purchases of a customer. If the door takes registered customers only, an unknown one is an error.
  func purchases(of customer: CustomerKey) async throws(IapticReadError) -> [Purchase] {
    let purchases = try await asking { try await door.purchases(of: customer) }
    if purchases.isEmpty, publisher.customers(through: .iaptic) == .registered {
      let known = try await asking { try await door.customer(publisher.id, id: customer.id) }
      if known == nil { throw .unknownUser }
    }
    return purchases
  }

  func page(_ request: IapticCustomersRequest) async throws(IapticReadError) -> Page {
    switch request {
    case .named(let users):
      var keys: [CustomerKey] = []
      for user in users { keys.append(try customer(user)) }
      let rows = try await rows(keys).filter(\.found.isKnown)
      return Page(skip: 0, limit: users.count, total: Int64(rows.count), rows: rows)
    case .page(let skip, let limit):
      let found = try await asking {
        try await CustomerStore(door.postgres).list(
          publisher.id, prefix: policy.customerPrefix, skip: skip, limit: limit)
      }
      let rows = try await rows(found.ids.map { CustomerKey(publisherId: publisher.id, id: $0) })
      return Page(skip: skip, limit: limit, total: found.total, rows: rows)
    }
  }

  /// Reads all customers at once: one statement serves them.
  private func rows(_ customers: [CustomerKey]) async throws(IapticReadError) -> [Row] {
    try await asking {
      let tasks = customers.map { customer in
        Task.immediate { @LoopActor in try await door.holdings(of: customer) }
      }
      var rows: [Row] = []
      for (customer, found) in zip(customers, try await tasks.allValues()) {
        // The prefix alone is the id of no user.
        if let user = policy.user(of: customer.id) { rows.append(Row(user: user, found: found)) }
      }
      return rows
    }
  }

  private func asking<Value>(_ ask: () async throws -> Value) async throws(IapticReadError) -> Value {
    do {
      return try await door.context.asking(ask)
    } catch {
      throw IapticReadError(error)
    }
  }
}

/// Which customers `GET /v2/customers` asks for.
enum IapticCustomersRequest: Equatable {
  case named([String])
  case page(skip: Int, limit: Int)

  /// The most rows of an answer.
  static let most = 100
  /// The most customers that a page may skip, so that no request reads a whole table.
  static let mostSkipped = 100_000

  /// How many reads the request costs: one for each name.
  ///
  /// A page costs as many as the longest page has rows, and one more for each thousand customers that it skips. The
  /// ledger walks over those, and over all that it counts.
  var reads: Int {
    switch self {
    case .named(let users): users.count
    case .page(let skip, limit: _): Self.most + skip / 1000
    }
  }

  /// How many reads a request costs.
  ///
  /// - Throws: ``IapticReadError``, if it is not valid.
  static func reads(of request: HTTPServerRequest) throws(IapticReadError) -> Int {
    try IapticCustomersRequest(request).reads
  }

  /// - Throws: ``IapticReadError``.
  init(_ request: HTTPServerRequest) throws(IapticReadError) {
    let skip = try Self.number(request, "skip", 0...Self.mostSkipped) ?? 0
    let limit = try Self.number(request, "limit", 1...Self.most) ?? Self.most
    if let list = request.query("applicationUsername") {
      // The official client escapes each name by itself, since it may have a comma. Others send the names as they are.
      let users = list.split(separator: ",").map { PercentCoding.decoded($0) ?? String($0) }
      guard (1...Self.most).contains(users.count) else {
        throw .invalid("applicationUsername: expected 1 to \(Self.most) names")
      }
      self = .named(users)
      return
    }
    self = .page(skip: skip, limit: limit)
  }

  private static func number(
    _ request: HTTPServerRequest, _ name: String, _ range: ClosedRange<Int>
  ) throws(IapticReadError) -> Int? {
    guard let text = request.query(name) else { return nil }
    guard text.isASCIIDigits(1...9), let number = Int(text), range.contains(number) else {
      throw .invalid("\(name): expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
