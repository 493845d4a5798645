import Domain
import HTTPServer
import Transport

/// A checked payment, as the client sent it. Members that the contract does not name are ignored.
struct CleengRequest: Equatable {
  let customerEmail: String
  let offerId: String
  /// The receipt of the app in base64: not verified yet.
  let receiptData: String
  /// The transaction of the receipt that the payment is about; `nil` if the client names none.
  let transactionId: String?
  let ipAddress: String?
  let couponCode: String?

  /// The most characters of an offer's id. It goes into events.
  static let longestOfferId = 256

  /// The devices that Cleeng knows. The device decides nothing here.
  private static let appTypes = ["ios", "tvos"]

  /// Reads the request.
  ///
  /// - Parameter isByCustomer: whether a customer's token came with it. Then `appType` is required.
  /// - Throws: ``Problem``: 415, or 400 REQ0001 with the expected form.
  init(_ request: HTTPServerRequest, isByCustomer: Bool) throws(Problem) {
    try requireJSON(request)
    let body: Body = try decodedBody(request)
    guard isEmailAddress(body.customerEmail) else {
      throw .invalidBody("customerEmail: expected an address of at most 254 characters")
    }
    guard (1...Self.longestOfferId).contains(body.offerId.unicodeScalars.count) else {
      throw .invalidBody("offerId: expected 1 to \(Self.longestOfferId) characters")
    }
    guard !body.receipt.receiptData.isEmpty else { throw .invalidBody("receipt.receiptData: is empty") }
    if let id = body.receipt.transactionId, !TransactionIdentifier.isValid(id) {
      throw .invalidBody("receipt.transactionId: expected 1 to \(TransactionIdentifier.longest) digits")
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
    offerId = body.offerId
    receiptData = body.receipt.receiptData
    transactionId = body.receipt.transactionId
    ipAddress = address
    couponCode = body.couponCode
  }

  private struct Body: Decodable {
    let customerEmail: String
    let offerId: String
    let receipt: Receipt
    let appType: String?
    let ipAddress: String?
    let couponCode: String?
  }

  private struct Receipt: Decodable {
    let receiptData: String
    let transactionId: String?
  }
}
