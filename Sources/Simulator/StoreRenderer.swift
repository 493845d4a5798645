import Crypto
import Formats
import FoundationEssentials
import HTTP2Server
import JSON

/// Turns decisions into bytes: encodes and signs.
struct StoreRenderer {
  private let pki: SimulatorPKI
  private let encoder = JSONEncoder()
  /// 10 MB of JSON with the right key and a value that no client should read to its end. It is made when it is asked
  /// for: that takes a debug build a while.
  private static let oversized =
    Array("{\"signedTransactionInfo\":\"".utf8) + [UInt8](repeating: UInt8(ascii: "A"), count: 10_000_000)
    + Array("\"}".utf8)

  init(_ pki: SimulatorPKI) {
    self.pki = pki
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// Returns the body of a signed answer.
  func body(_ purchase: StorePurchase, _ seal: StoreDecision.Seal, _ question: StoreQuestion) throws -> [UInt8] {
    let app = question.app
    switch question.endpoint {
    case .history:
      return try encode(
        HistoryAnswer(
          revision: purchase.page?.revision ?? "\(purchase.asked.originalTransactionId)_1",
          hasMore: purchase.page?.hasMore ?? false, bundleId: app.bundleId, appAppleId: app.appAppleId,
          environment: question.environment.name, signedTransactions: purchase.history.map { try sign($0.json, seal) }))
    case .subscriptions:
      return try encode(
        SubscriptionsAnswer(
          environment: question.environment.name, bundleId: app.bundleId, appAppleId: app.appAppleId,
          data: groups(purchase, seal, question)))
    case .orderLookup:
      let signed = try purchase.history.map { Array("\"\(try sign($0.json, seal))\"".utf8) }
      return JSONWriter.object { json in
        json.member("signedTransactions", array: signed)
        json.member("status", Int64(0))
      }
    default:
      let signed = try sign(purchase.asked.json, seal)
      return JSONWriter.object { $0.member("signedTransactionInfo", signed) }
    }
  }

  /// Returns an answer that needs no signature, or `nil` if it needs one.
  func response(_ answer: StoreDecision.Answer, now: Int64) throws -> HTTP2Response? {
    switch answer {
    case .purchase: return nil
    case .body(let body): return Self.json(body)
    case .accepted: return HTTP2Response(status: 202)
    case .failure(let failure):
      var response = Self.json(
        try encode(FailureAnswer(errorCode: failure.code, errorMessage: failure.message)), status: failure.status)
      if let time = failure.retryAfter { response.headers.append(("retry-after", String(time))) }
      return response
    case .unauthorized: return Self.unauthorized
    case .garbage: return Self.json(Array("<html><body>It works!</body></html>".utf8))
    case .oversized: return Self.json(Self.oversized)
    }
  }

  /// Apple's 401: text, or no body at all.
  static let unauthorized = HTTP2Response(
    status: 401, headers: [("content-type", "text/plain")], body: Array("Unauthenticated\n".utf8))

  static func json(_ body: [UInt8], status: Int = 200) -> HTTP2Response {
    HTTP2Response(status: status, headers: [("content-type", "application/json")], body: body)
  }

  func encode(_ value: some Encodable) throws -> [UInt8] {
    Array(try encoder.encode(value))
  }

  private func groups(
    _ purchase: StorePurchase, _ seal: StoreDecision.Seal, _ question: StoreQuestion
  ) throws -> [SubscriptionsAnswer.Group] {
    let asked = ([purchase.subscription].compactMap(\.self) + purchase.related).filter {
      question.statuses.isEmpty || question.statuses.contains($0.status.rawValue)
    }
    guard let group = asked.first?.latest.subscriptionGroupIdentifier else { return [] }
    let last = try asked.map { subscription in
      SubscriptionsAnswer.LastTransaction(
        originalTransactionId: subscription.latest.originalTransactionId, status: subscription.status.rawValue,
        signedTransactionInfo: try sign(subscription.latest.json, seal),
        signedRenewalInfo: try sign(encode(subscription.renewal), seal))
    }
    return [SubscriptionsAnswer.Group(subscriptionGroupIdentifier: group, lastTransactions: last)]
  }

  /// Returns the JWS of a payload.
  func sign(_ payload: [UInt8], _ seal: StoreDecision.Seal) throws -> String {
    switch seal {
    case .genuine: return try pki.genuine.sign(payload)
    case .tampered: return try pki.genuine.signAndTamper(payload)
    case .foreignRoot: return try pki.foreign.sign(payload)
    case .unmarked: return try pki.unmarked.sign(payload)
    }
  }

  /// The signer of everything that is genuine.
  var signer: StoreSigner { pki.genuine }

  /// Signs a payload, and keeps what differs from other payloads.
  func seal(_ payload: [UInt8]) throws -> SealedPayload { try pki.genuine.seal(payload) }

  /// Returns an app receipt in base64.
  func receipt(_ receipt: StoreReceipt, _ seal: StoreDecision.Seal) throws -> String {
    switch seal {
    case .genuine: return try pki.genuine.receipt(receipt.content)
    case .tampered: return try pki.genuine.tamperedReceipt(receipt.content)
    case .foreignRoot: return try pki.foreign.receipt(receipt.content)
    case .unmarked: return try pki.unmarked.receipt(receipt.content)
    }
  }
}

private struct FailureAnswer: Encodable {
  var errorCode: Int
  var errorMessage: String
}

private struct HistoryAnswer: Encodable {
  var revision: String
  var hasMore: Bool
  var bundleId: ExactText
  var appAppleId: Int64
  var environment: String
  var signedTransactions: [String]
}

private struct SubscriptionsAnswer: Encodable {
  struct Group: Encodable {
    var subscriptionGroupIdentifier: String
    var lastTransactions: [LastTransaction]
  }

  struct LastTransaction: Encodable {
    var originalTransactionId: String
    var status: Int
    var signedTransactionInfo: String
    var signedRenewalInfo: String
  }

  var environment: String
  var bundleId: ExactText
  var appAppleId: Int64
  var data: [Group]
}
