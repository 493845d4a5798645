import Domain
import Gateway
import HTTPServer
import JSON

/// The receipt resource of Mbaasy's contract.
struct MbaasyAnswer {
  /// Of a receipt that Apple has not signed.
  var fraudReason: String?
  /// The app that the receipt names; `nil` if nothing in the receipt counts.
  var bundleId: BundleId?
  /// `production` or `sandbox`; `nil` if nothing in the receipt counts.
  var environment: String?
  var purchases: [MbaasyPurchase] = []
  /// When Apple made the receipt, or when a forged one came, in milliseconds since 1970.
  var createdAt: Int64

  private let id: String
  private let appFamilyId: String
  private let request: MbaasyRequest
  /// The address that is kept.
  private let ipAddress: String?

  /// Begins the resource of a receipt.
  ///
  /// - Parameter sha256: the SHA-256 of the receipt.
  init(
    _ request: MbaasyRequest, of caller: MbaasyAuthentication, sha256: [UInt8], ipAddress: String?, createdAt: Int64
  ) {
    id = MbaasyIdentifier.receipt(sha256, of: caller.publisher.id)
    appFamilyId = MbaasyIdentifier.app(caller.bundleId, of: caller.publisher.id)
    (self.request, self.ipAddress, self.createdAt) = (request, ipAddress, createdAt)
  }

  /// The resource as an HTTP answer. A member without a value is `null`.
  func response(_ status: Int) -> HTTPServerResponse { jsonResponse(status, written: body) }

  private var body: [UInt8] {
    JSONWriter.object { receipt in
      receipt.member("id", id)
      // Transaction receipts of iOS 6 are not accepted.
      receipt.member("style", "unified")
      receipt.member("app_family_id", appFamilyId)
      receipt.member("bundle_id", MbaasyValue.text(bundleId?.text))
      receipt.member("is_fraud", fraudReason != nil)
      receipt.member("fraud_reason", MbaasyValue.text(fraudReason))
      receipt.member("environment", MbaasyValue.text(environment))
      receipt.member("country_code", MbaasyValue.text(request.countryCode))
      receipt.member("identifier_for_vendor", MbaasyValue.text(request.identifierForVendor))
      receipt.member("user_identifier", MbaasyValue.text(request.userIdentifier))
      receipt.member("metadata", MbaasyValue.json(request.metadata))
      receipt.member("ip_address", MbaasyValue.text(ipAddress))
      receipt.member("in_app_purchases", purchases) { $0.write(to: &$1) }
      receipt.member("created_at", MbaasyValue.time(createdAt))
      receipt.member("updated_at", MbaasyValue.time(updatedAt))
    }
  }

  /// The newest change of a purchase in the receipt.
  private var updatedAt: Int64 { purchases.compactMap(\.updatedAt).reduce(createdAt, max) }
}
