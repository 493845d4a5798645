import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import FoundationEssentials
import HTTP
import HTTPClient
import Simulator
import Testing

extension RunningSimulator {
  /// Makes a control call, as somebody with curl does.
  func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> HTTPClientResponse {
    try await client.send(
      HTTPClientRequest(
        method, url("/simulator/\(path)"), body: (body ?? (method == "GET" ? nil : "")).map { Array($0.utf8) },
        timeout: .seconds(120), maxResponseBytes: 64 << 20))
  }

  /// Begins a life; without other terms its periods last for two hours.
  @discardableResult
  func begin(_ id: String, _ terms: String = #"{"periodSeconds": 7200}"#) async throws -> LifeBody {
    let answer = try await control("PUT", "lives/\(id)", terms)
    #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
    return try answer.decoded(as: LifeBody.self)
  }

  /// Lets something happen to a life.
  @discardableResult
  func happens(_ action: String, to id: String, _ options: String? = nil) async throws -> LifeBody {
    let answer = try await control("POST", "lives/\(id)/\(action)", options)
    #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    return try answer.decoded(as: LifeBody.self)
  }

  func life(_ id: String) async throws -> LifeBody {
    try await control("GET", "lives/\(id)").decoded(as: LifeBody.self)
  }

  func signedDataVerifier() throws -> SignedDataVerifier {
    SignedDataVerifier(roots: TrustedRoots([try Certificate(der: bytes("\(folder)/root.der"))]))
  }

  /// The payload of a transaction that the simulator has signed.
  func verified(_ jws: String, in environment: Environment = .production) throws -> TransactionPayload {
    let app = AcceptedApps.App(bundleId: BundleId(Self.app.bundleId.text), environments: [environment])
    return try #require(try signedDataVerifier().transaction(jws, expecting: AcceptedApps([app])).payload)
  }

  /// Asks for a transaction and verifies it.
  func signed(_ id: String) async throws -> TransactionPayload {
    try verified(try await transaction(id).decoded(as: TransactionBody.self).signedTransactionInfo)
  }

  /// The latest transactions of the customer's subscriptions.
  func statuses(_ id: String) async throws -> [SubscriptionsBody.Last] {
    try await call("v1/subscriptions/\(id)").decoded(as: SubscriptionsBody.self).data.flatMap(\.lastTransactions)
  }
}

/// A life as the control API tells it.
struct LifeBody: Decodable {
  struct Transaction: Decodable {
    var transactionId: String
    var productId: String
    var purchaseDate: Int64
    var expiresDate: Int64?
    var isUpgraded: Bool?
    var revocationDate: Int64?
  }

  struct Request: Decodable {
    struct Answer: Decodable {
      struct Body: Decodable {
        var refundPreference: String?
        var consumptionStatus: Int?
      }

      var version: Int
      var inTime: Bool
      var body: Body
    }

    var transactionId: String
    var reason: String
    var answers: [Answer]
  }

  var originalTransactionId: String
  var state: String
  var hasAccess: Bool
  var accessUntil: Int64?
  var productId: String
  var nextProductId: String?
  var willRenew: Bool?
  var successor: String?
  var revoked: [String]
  var transactions: [Transaction]
  var refundRequests: [Request]
}

/// A page of lives.
struct LivesBody: Decodable {
  var time: Int64
  var count: Int
  var lives: [LifeBody]
  var next: String?
}
