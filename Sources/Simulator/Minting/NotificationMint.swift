import Formats
import HTTP2Server
import JSON

/// A notification that a test posts itself: of any type, and forged if it wants.
struct NotificationMint: Equatable, Sendable {
  var transactionId: String
  var type = "DID_RENEW"
  var subtype: String?
  /// How the whole is signed; `nil` as the scenario says.
  var seal: StoreDecision.Seal?
  /// How the transaction and the renewal info in it are signed.
  var innerSeal: StoreDecision.Seal?
  /// The life whose transaction stands in it instead of its own.
  var strangerId: String?

  /// Reads the id and the query of `simulator/notification/ID`.
  init?(_ id: String, query: [StoreCall.QueryItem]) {
    guard id.isASCIIDigits(1...20) else { return nil }
    transactionId = id
    for item in query {
      switch item.name {
      case "type" where !item.value.isEmpty: type = item.value
      // Apple may write an empty one.
      case "subtype": subtype = item.value
      case "seal", "innerSeal":
        guard let seal = StoreDecision.Seal(rawValue: item.value) else { return nil }
        if item.name == "seal" { self.seal = seal } else { innerSeal = seal }
      case "transaction" where item.value.isASCIIDigits(1...20): strangerId = item.value
      default: return nil
      }
    }
  }
}

extension StoreService {
  /// Makes the signed payload of a notification that the simulator neither posts nor keeps.
  func mint(_ mint: NotificationMint, of app: Simulator.App, now: Int64) throws -> HTTP2Response {
    func purchase(_ id: String) -> StorePurchase {
      if let held = heldPurchase(id) { return held }
      let environment = Scenario(transactionId: id).environmentOfPurchase
      return StorePurchase(
        StoreQuestion(endpoint: .transactions, transactionId: id, environment: environment, app: app, now: now))
    }
    let usual = lives.has(mint.transactionId) ? .genuine : Scenario(transactionId: mint.transactionId).seal
    let own = purchase(mint.transactionId)
    let shown = mint.strangerId.map(purchase)?.asked ?? own.asked
    let inner = mint.innerSeal ?? usual
    let notification = SimulatedNotification(
      number: 0, uuid: Self.uuid(), type: mint.type, subtype: mint.subtype,
      environment: own.asked.environment == StoreEnvironment.production.name ? .production : .sandbox,
      bundleId: own.asked.bundleId,
      appAppleId: apps.first { $0.bundleId == own.asked.bundleId }?.appAppleId ?? 999,
      signedDate: own.asked.signedDate, status: own.subscription?.status.rawValue, urls: [])
    let payload =
      switch mint.type {
      case "RESCIND_CONSENT":
        notification.payload(
          appTransactionInfo: try renderer.sign(notification.appTransaction(shown.appTransactionId), inner))
      case "EXTERNAL_PURCHASE_TOKEN": notification.payload(tokenCreatedAt: notification.signedDate)
      default:
        notification.payload(
          transactionInfo: try renderer.sign(shown.json, inner),
          renewalInfo: try own.subscription.map { try renderer.sign(renderer.encode($0.renewal), inner) })
      }
    let text = try renderer.sign(payload, mint.seal ?? usual)
    return HTTP2Response(status: 200, headers: [("content-type", "text/plain")], body: Array(text.utf8))
  }
}

extension SimulatedNotification {
  /// The app transaction of the customer who has the download.
  fileprivate func appTransaction(_ id: String) -> [UInt8] {
    JSONWriter.object { json in
      json.member("receiptType", environment.name)
      // Apple documents 0 for the sandbox, also beside a notification that names the app's id.
      json.member("appAppleId", environment == .production ? appAppleId : 0)
      json.member("bundleId", bundleId.text)
      json.member("applicationVersion", "1")
      json.member("receiptCreationDate", signedDate)
      json.member("originalPurchaseDate", signedDate)
      json.member("originalApplicationVersion", "1")
      json.member("appTransactionId", id)
      json.member("originalPlatform", "iOS")
    }
  }
}
