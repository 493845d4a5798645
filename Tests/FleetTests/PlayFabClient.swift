import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import Postgres
import TestSupport

/// A game that speaks PlayFab's contract.
@LoopActor
struct PlayFabClient {
  let fleet: RunningFleet
  /// The customer who sends, unless a request says otherwise.
  var customer: Int64 = 7
  /// Somebody else.
  var other: Int64 = 8

  /// Publishers beside the configured one, each with one difference.
  nonisolated static let closed: PublisherId = 1004
  nonisolated static let withoutApps: PublisherId = 1005
  /// Accepts only production, and sells only what the simulator does not have.
  nonisolated static let production: PublisherId = 1006
  nonisolated static let withoutSandbox: PublisherId = 1007
  nonisolated static let withProof: PublisherId = 1008
  /// Its catalog has no prices.
  nonisolated static let withoutPrices: PublisherId = 1009

  /// Runs a fleet with the customers 7 and 8.
  static func with(
    _ roles: [String], overrides: [String: String] = [:], prepare: @LoopActor (RunningFleet) throws -> Void = { _ in },
    _ body: @LoopActor (PlayFabClient) async throws -> Void
  ) async throws {
    try await RunningFleet.with(roles, overrides: overrides, prepare: prepare) { fleet in
      _ = try await fleet.putCustomer(8)
      try await body(PlayFabClient(fleet: fleet))
    }
  }

  /// Writes the files of the other publishers.
  static func otherPublishers(_ fleet: RunningFleet) throws {
    let tokens = #""customerTokens": {"algorithm": "HS256", "secretFile": "../jwt.secret"}, "customers": "open""#
    let (open, app) = (#""doors": {"playfab": {"enabled": true}}"#, RunningFleet.app)
    let offers = #""offers": \#(RunningFleet.offers)"#
    try fleet.writePublisher(closed, #"\#(tokens), "apps": [\#(app)], \#(offers)"#)
    try fleet.writePublisher(withoutApps, #"\#(tokens), \#(offers), \#(open)"#)
    let only = app.replacing(#""released""#, with: #""environments": ["Production"], "released""#)
    let other = #""offers": [{"offerId": "S9", "productIds": ["com.example.app.other"]}]"#
    try fleet.writePublisher(production, #"\#(tokens), "apps": [\#(only)], \#(other), \#(open)"#)
    try fleet.writePublisher(withoutSandbox, #"\#(tokens), "apps": [\#(app)], \#(offers), \#(open)"#)
    let proof = #""ownership": {"proof": "appAccountToken"}"#
    let unpriced = #""offers": [{"offerId": "S1", "productIds": ["com.example.app.monthly"]}]"#
    try fleet.writePublisher(withoutPrices, #"\#(tokens), "apps": [\#(app)], \#(unpriced), \#(open)"#)
    try fleet.writePublisher(withProof, #"\#(tokens), "apps": [\#(app)], \#(offers), \#(open), \#(proof)"#)
  }

  // MARK: Requests

  func restore(
    _ receipt: String, version: String? = nil, customer: Int64? = nil, publisher: PublisherId = RunningFleet.publisher
  ) async throws -> Answer {
    let more = version.map { #","CatalogVersion":"\#($0)""# } ?? ""
    return try await send(
      "RestoreIOSPurchases", #"{"ReceiptData":"\#(receipt)"\#(more),"CustomTags":{"build":"7"}}"#,
      ticket: jwt(customer: customer ?? self.customer, publisher: publisher))
  }

  func validate(
    receipt: String? = nil, jws: String? = nil, price: Int, _ currency: String? = nil, customer: Int64? = nil,
    publisher: PublisherId = RunningFleet.publisher
  ) async throws -> Answer {
    let evidence = receipt.map { #""ReceiptData":"\#($0)""# } ?? #""JwsReceiptData":"\#(jws ?? "")""#
    let more = currency.map { #","CurrencyCode":"\#($0)""# } ?? ""
    return try await send(
      "ValidateIOSReceipt", #"{\#(evidence),"PurchasePrice":\#(price)\#(more)}"#,
      ticket: jwt(customer: customer ?? self.customer, publisher: publisher))
  }

  /// Sends any request with the customer's ticket.
  func send(_ method: String, _ body: String, type: String = "application/json") async throws -> Answer {
    try await send(method, body, ticket: jwt(customer: customer, publisher: RunningFleet.publisher), type: type)
  }

  /// Sends any request. PlayFab's libraries name themselves in the query.
  func send(
    _ method: String, _ body: String, ticket: String?, type: String = "application/json", asSuccess: Bool = false
  ) async throws -> Answer {
    var headers = [(name: "Content-Type", value: type)]
    if let ticket { headers.append(("X-Authorization", ticket)) }
    if asSuccess { headers.append(("X-ReportErrorAsSuccess", "true")) }
    let answer = try await fleet.send("POST", fleet.url("/Client/\(method)?sdk=Test-1.0"), headers, body)
    return try Answer(answer)
  }

  /// Counts the rows of a table of the ledger.
  func count(_ table: String) async throws -> Int64 {
    let url = TestServers.current!.ledgerURL(database: fleet.database)
    let client = PostgresClient(try PostgresEndpoint(url: url, password: nil, caFile: nil), connections: 1)
    client.start()
    do {
      try await eventually("the test reaches the ledger") { client.isReady }
      let rows = try await client.run(
        PostgresQuery(PostgresStatement("count", "SELECT count(*) AS count FROM \(table)"), []))
      await client.stop()
      return try rows.first?.int64("count") ?? -1
    } catch {
      await client.stop()
      throw error
    }
  }

  // MARK: Answers

  /// An answer with its envelope.
  struct Answer: Sendable {
    let status: Int
    let text: String
    private let envelope: Envelope

    init(_ answer: HTTPClientResponse) throws {
      status = answer.status
      text = String(decoding: answer.body, as: UTF8.self)
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .custom { Member($0.last?.stringValue ?? "") }
      envelope = try decoder.decode(Envelope.self, from: Data(answer.body))
    }

    var code: Int { envelope.code }
    var error: String? { envelope.error }
    /// The name and the number of the error.
    var name: String { "\(envelope.error ?? "none") \(envelope.errorCode ?? 0)" }
    var fulfillments: [Fulfillment] { envelope.data?.fulfillments ?? [] }
  }

  private struct Envelope: Decodable, Sendable {
    let code: Int
    let error: String?
    let errorCode: Int?
    let data: Content?

    struct Content: Decodable, Sendable { let fulfillments: [Fulfillment] }
  }

  /// A member, whose name PlayFab begins with a capital.
  private struct Member: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name.prefix(1).lowercased() + name.dropFirst() }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }

  struct Fulfillment: Decodable, Sendable {
    let fulfilledItems: [Item]
    let recordedPriceSource: String?
    let recordedTransactionCurrency: String?
    let recordedTransactionTotal: Int?
  }

  struct Item: Decodable, Sendable, Equatable {
    let itemId: String
    let itemInstanceId: String
    let itemClass: String?
    let displayName: String?
    let catalogVersion: String?
    let purchaseDate: String?
    let expiration: String?
    let remainingUses: Int?
    let usesIncrementedBy: Int?
    let unitPrice: Int
    let unitCurrency: String?
  }
}
