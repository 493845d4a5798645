import Formats
import HTTP2Server

/// What an app would hold: a signed transaction, or a receipt with some purchases.
struct Mint: Equatable, Sendable {
  /// The transactions; a signed transaction is about the first. A receipt may have none.
  var transactionIds: [String]
  var isReceipt: Bool
  /// The age of the evidence in seconds.
  var age: Int64 = 0
  /// Whether a receipt has only the last transaction of each purchase.
  var isLatestOnly = false

  /// Reads `jws/transactionId`, `receipt/transactionId` or `receipt`, and `also`, `latest` and `age` of the query.
  init?(_ segments: [String], query: [StoreCall.QueryItem]) {
    switch (segments.first, segments.count) {
    case ("jws", 2), ("receipt", 2), ("receipt", 1): break
    default: return nil
    }
    isReceipt = segments[0] == "receipt"
    transactionIds = Array(segments[1...])
    for item in query {
      switch item.name {
      case "also" where isReceipt: transactionIds += item.value.split(separator: ",").map(String.init)
      case "latest" where isReceipt: isLatestOnly = item.value == "true"
      case "age": age = Int64(item.value).map { min(max($0, 0), Self.oldest) } ?? 0
      default: break
      }
    }
    guard transactionIds.allSatisfy({ $0.isASCIIDigits(1...20) }) else { return nil }
  }

  /// Half a day: the certificates of a new PKI are valid since yesterday.
  private static let oldest: Int64 = 43_200
}

extension StoreService {
  /// Mints evidence as the scenarios demand, whatever the API answers about them at present.
  func mint(_ mint: Mint, of app: Simulator.App, now: Int64) throws -> HTTP2Response {
    let text = try minted(
      mint.transactionIds, isReceipt: mint.isReceipt, isLatestOnly: mint.isLatestOnly, of: app,
      now: now - mint.age * 1000)
    return HTTP2Response(status: 200, headers: [("content-type", "text/plain")], body: Array(text.utf8))
  }

  /// The evidence of the first app, as of now.
  func minted(_ transactionIds: [String], isReceipt: Bool) throws -> String {
    try minted(transactionIds, isReceipt: isReceipt, of: apps[0], now: now())
  }

  private func minted(
    _ transactionIds: [String], isReceipt: Bool, isLatestOnly: Bool = false, of app: Simulator.App, now: Int64
  ) throws -> String {
    let questions = transactionIds.map { id in
      let scenario = Scenario(transactionId: id)
      return StoreQuestion(
        endpoint: .transactions, transactionId: id, environment: scenario.environmentOfPurchase,
        app: app, now: now)
    }
    // Nobody has bought anything in an app without purchases, but the app is there.
    let first =
      questions.first
      ?? StoreQuestion(
        endpoint: .transactions, transactionId: Scenario.active.prefix, environment: .production, app: app, now: now)
    let held = transactionIds.first.flatMap(heldPurchase)
    let (origin, seal) = (held?.asked ?? StorePurchase(first).asked, held == nil ? first.scenario.seal : .genuine)
    guard isReceipt else { return try renderer.sign(origin.json, seal) }
    let purchases = questions.map { heldPurchase($0.transactionId) ?? StorePurchase($0) }
    let receipt = StoreReceipt(origin: origin, purchases: purchases, isLatestOnly: isLatestOnly, created: now)
    return try renderer.receipt(receipt, seal)
  }
}

extension Scenario {
  /// The environment that knows the purchase.
  var environmentOfPurchase: StoreEnvironment {
    self == .sandboxOnly || self == .unauthorizedInProduction ? .sandbox : .production
  }

  /// How Apple's data about the purchase is signed.
  var seal: StoreDecision.Seal {
    switch self {
    case .tampered: .tampered
    case .foreignRoot: .foreignRoot
    case .missingMarkers: .unmarked
    default: .genuine
    }
  }
}
