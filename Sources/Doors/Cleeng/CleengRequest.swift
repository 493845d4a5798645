import Domain
import Formats
import Gateway
import HTTPServer
import JSON
import Transport

/// A checked payment, as the client sent it. Members that the contract does not name are ignored.
struct CleengRequest: Equatable {
  let customerEmail: String
  let offerId: OfferId
  /// The receipt of the app in base64: not verified yet.
  let receiptData: String
  /// The transaction of the receipt that the payment is about; `nil` if the client names none.
  let transactionId: TransactionId?
  let ipAddress: String?
  let couponCode: String?

  /// The devices that Cleeng knows. The device decides nothing here.
  private static let appTypes = ["ios", "tvos"]

  /// Reads the request.
  ///
  /// - Parameter isByCustomer: whether a customer's token came with it. Then `appType` is required.
  /// - Throws: ``Problem``: 415, or 400 REQ0001 with the expected form.
  init(_ request: HTTPServerRequest, isByCustomer: Bool) throws(Problem) {
    try requireJSON(request)
    let body = try readJSON(of: request, Body.init)
    guard isEmailAddress(body.customerEmail) else {
      throw .invalidBody("customerEmail: expected an address of at most 254 characters")
    }
    guard !body.offerId.isEmpty else { throw .invalidBody("offerId: expected 1 to \(TextLimit.name.most) characters") }
    guard !body.receiptData.isEmpty else { throw .invalidBody("receipt.receiptData: is empty") }
    if let id = body.transactionId, !TransactionId.isValid(id) {
      throw .invalidBody("receipt.transactionId: expected 1 to \(TransactionId.longest) digits")
    }
    guard body.appType != nil || !isByCustomer else {
      throw .invalidBody("appType: is missing; a customer's token needs it")
    }
    guard body.appType.map(Self.appTypes.contains) ?? true else {
      throw .invalidBody("appType: expected \(Self.appTypes.joined(separator: " or "))")
    }
    // Middleware without an address sends an empty one.
    let address = body.ipAddress.flatMap { $0.isEmpty ? nil : $0 }
    guard address == nil || address.flatMap({ NetworkAddress($0) }) != nil else {
      throw .invalidBody("ipAddress: expected an IPv4 or IPv6 address")
    }
    customerEmail = body.customerEmail
    offerId = OfferId(body.offerId)
    receiptData = body.receiptData
    transactionId = body.transactionId.map(TransactionId.init(_:))
    ipAddress = address
    couponCode = body.couponCode
  }

  /// The members as they are. Some of them go into events.
  private struct Body {
    let customerEmail: String
    let offerId: String
    let receiptData: String
    let transactionId: String?
    let appType: String?
    let ipAddress: String?
    let couponCode: String?

    init(_ text: JSONText) throws {
      let body = try RequestObject(text)
      customerEmail = try body.requiredText("customerEmail", .ruled)
      offerId = try body.requiredText("offerId", .name)
      let receipt = try body.requiredObject("receipt")
      receiptData = try receipt.requiredText("receiptData", .receipt)
      transactionId = try receipt.text("transactionId", .ruled)
      appType = try body.text("appType", .ruled)
      ipAddress = try body.text("ipAddress", .ruled)
      couponCode = try body.text("couponCode", .name)
    }
  }
}
