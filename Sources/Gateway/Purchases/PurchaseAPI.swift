import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Postgres
import Service

/// Answers requests about purchases and entitlements from the ledger.
@LoopActor
struct PurchaseAPI {
  let context: RoleContext
  let postgres: PostgresClient
  let holdings: Holdings
  /// Publishes the events of the gateway's own commits.
  let outlet: EventOutlet
  let caller: Caller

  var reader: PurchaseReader { PurchaseReader(postgres) }

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try customer(call)
    let page = try PageRequest(call.request)
    let start = try page.start(PurchaseReader.Place.init(cursor:))
    var found = try await context.asking {
      try await reader.purchases(of: customer, after: start, limit: page.wanted)
    }
    try require(found)
    let next = page.cut(&found.purchases).map { PurchaseReader.Place($0.key).cursor }
    let writer = PurchaseWriter(caller.publisher, now: context.now())
    return jsonResponse(200, written: writer.list(of: customer.id, found, next: next))
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let record = try await record(call[.originalTransactionId], try environments(call.request))
    return answer(record)
  }

  // MARK: Parts of requests

  /// The customer in the path. A customer's token names its own customer only.
  func customer(_ call: Call) throws(Problem) -> CustomerKey {
    let id = try customerId(call[.customerId])
    guard caller.mayActFor(id) else {
      throw .forbidden("The token acts for another customer than the path names.")
    }
    return CustomerKey(publisherId: caller.publisher.id, id: id)
  }

  /// Refuses a customer whom the publisher should have registered.
  func require(_ found: CustomerPurchases) throws(Problem) {
    guard found.isKnown || caller.publisher.customers == .open else { throw .noCustomer }
  }

  /// The environments that a request may mean, the preferred one first.
  ///
  /// - Parameter parameters: further parameters that the request may have.
  func environments(_ request: HTTPServerRequest, beside parameters: [String] = []) throws(Problem) -> [Environment] {
    try requireOnly(["environment"] + parameters, request)
    guard let name = request.query("environment") else { return Self.allEnvironments }
    guard let known = Self.allEnvironments.first(where: { $0 == Environment(name) }) else {
      throw .invalidQuery("environment: expected \(Self.allEnvironments.map(\.text).joined(separator: " or "))")
    }
    return [known]
  }

  private static let allEnvironments: [Environment] = [.production, .sandbox]

  /// Reads a purchase that the caller may see.
  func record(_ id: String, _ environments: [Environment]) async throws(Problem) -> PurchaseRecord {
    guard TransactionId.isValid(id) else {
      throw .invalidPath("originalTransactionId: expected 1 to \(TransactionId.longest) digits")
    }
    let publisher = caller.publisher.id
    guard
      var record = try await context.asking({
        try await reader.purchase(publisher, OriginalTransactionId(id), in: environments)
      }),
      caller.customerId == nil || record.purchase.owner.map({ caller.mayActFor($0.customerId) }) == true
    else { throw Self.unknownPurchase }
    // The other owners are no business of a customer's.
    record.ownerships.removeAll { caller.customerId != nil && $0.customerId.map(caller.mayActFor) != true }
    return record
  }

  static let unknownPurchase = Problem.notFound(
    "This credential sees no purchase with this originalTransactionId. A customer's token sees the purchases that "
      + "its customer owns now.")

  func answer(_ record: PurchaseRecord) -> HTTPServerResponse {
    jsonResponse(200, written: PurchaseWriter(caller.publisher, now: context.now()).one(record))
  }
}

extension PurchaseReader.Place {
  init(_ key: PurchaseKey) {
    self.init(environment: key.environment, originalTransactionId: key.originalTransactionId)
  }

  /// Reads a cursor that ``cursor`` wrote; `nil` for any other text.
  init?(cursor: String) {
    let parts = cursor.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, (1...32).contains(parts[0].count),
      parts[0].allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }),
      let id = String(parts[1]), TransactionId.isValid(id)
    else { return nil }
    self.init(
      environment: Environment(String(decoding: parts[0], as: UTF8.self)),
      originalTransactionId: OriginalTransactionId(id))
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var cursor: String { "\(environment)-\(originalTransactionId)" }
}
