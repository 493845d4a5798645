import Formats
import JSON

/// One notification of Apple's, and what became of it.
struct SimulatedNotification: Equatable, Sendable {
  /// One try to post it.
  struct Attempt: Equatable, Sendable {
    /// UNIX milliseconds.
    var date: Int64
    var url: String
    var result: SendResult
    /// The status of the answer, if there was one.
    var status: Int?
  }

  /// Its place among all notifications, from 0.
  var number: Int
  var uuid: String
  var type: String
  var subtype: String?
  var environment: StoreEnvironment
  var bundleId: ExactText
  var appAppleId: Int64
  /// The life that it is about; `nil` for a test.
  var originalTransactionId: String?
  var transactionId: String?
  /// UNIX milliseconds.
  var signedDate: Int64
  var transaction: SealedPayload?
  var renewal: SealedPayload?
  /// Apple's number for the state of the subscription.
  var status: Int?
  var requestReason: String?
  /// The signature of the whole.
  var signature: [UInt8] = []
  /// The bodies of version 1, if it is sent in that version.
  var oldBodies: [[UInt8]]?
  /// Where it goes.
  var urls: [String]
  var isLost = false
  var attempts: [Attempt] = []

  /// Whether every URL has got it.
  var isDelivered: Bool {
    urls.allSatisfy { url in attempts.contains { $0.url == url && $0.result == .success } }
  }

  /// The payload of version 2, with the parts that are signed on their own.
  func payload(_ signer: StoreSigner) -> [UInt8] {
    payload(transactionInfo: transaction.map(signer.jws), renewalInfo: renewal.map(signer.jws))
  }

  /// The payload of version 2 with these parts.
  func payload(transactionInfo: String?, renewalInfo: String?) -> [UInt8] {
    payload("data") { data in
      writeApp(to: &data)
      data.member("bundleVersion", "1")
      data.member("consumptionRequestReason", requestReason)
      data.member("environment", environment.name)
      data.member("signedTransactionInfo", transactionInfo)
      data.member("signedRenewalInfo", renewalInfo)
      data.member("status", status.map(Int64.init))
    }
  }

  /// The payload of a notification about no purchase: a download of the app, or a token for purchases elsewhere.
  func payload(appTransactionInfo: String) -> [UInt8] {
    payload("appData") { data in
      data.member("appAppleId", appAppleId)
      data.member("bundleId", bundleId.text)
      data.member("environment", environment.name)
      data.member("signedAppTransactionInfo", appTransactionInfo)
    }
  }

  /// The payload about a token that was made at a time.
  func payload(tokenCreatedAt date: Int64) -> [UInt8] {
    payload("externalPurchaseToken") { token in
      // Only the id tells the environment.
      token.member("externalPurchaseId", environment == .production ? uuid : "SANDBOX_\(uuid)")
      token.member("tokenType", "SERVICES")
      token.member("tokenCreationDate", date)
      token.member("tokenExpirationDate", date + 30 * 86_400_000)
      writeApp(to: &token)
    }
  }

  private func payload(_ part: StaticString, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
    JSONWriter.object { json in
      json.member("notificationType", type)
      json.member("subtype", subtype)
      json.member("notificationUUID", uuid)
      json.member("version", "2.0")
      json.member("signedDate", signedDate)
      json.member(part, write)
    }
  }

  private func writeApp(to json: inout JSONWriter) {
    // Apple's sandbox knows no number of the app.
    json.member("appAppleId", environment == .production ? appAppleId : nil)
    json.member("bundleId", bundleId.text)
  }

  /// The signed text of version 2.
  func signedPayload(_ signer: StoreSigner) -> String {
    signer.jws(SealedPayload(payload: payload(signer), signature: signature))
  }

  /// The bodies that are posted, one after the other. Some changes are two notifications in version 1, or none.
  func bodies(_ signer: StoreSigner) -> [[UInt8]] {
    oldBodies ?? [JSONWriter.object { $0.member("signedPayload", signedPayload(signer)) }]
  }
}

/// Apple's word for the result of an attempt.
enum SendResult: String, CaseIterable, Sendable {
  case success = "SUCCESS"
  case timedOut = "TIMED_OUT"
  case tls = "TLS_ISSUE"
  case noResponse = "NO_RESPONSE"
  case prematureClose = "PREMATURE_CLOSE"
  case invalidResponse = "INVALID_RESPONSE"
  case unsuccessful = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
  case other = "OTHER"
}
