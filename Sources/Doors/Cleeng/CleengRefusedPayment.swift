import Crypto
import Domain
import Formats
import JSON

/// A payment at Cleeng's StoreKit 1 door that the gateway refuses, although its request is well formed.
///
/// Cleeng's contract answers it with 200, and tells the failure by a webhook. Nothing about it is verified, so the
/// event repeats only what the request says. It does not repeat the e-mail address: nobody could erase it.
struct CleengRefusedPayment: Sendable {
  let publisherId: PublisherId
  /// The customer; `nil` if the publisher has none with the address.
  let customerId: CustomerId?
  let offerId: OfferId
  /// The transaction that the request names.
  let transactionId: TransactionId?
  /// The coupon of the request; nobody has looked it up.
  let couponCode: String?
  /// SHA-256 of the receipt: it names the payment, together with the time.
  let receiptSHA256: [UInt8]
  /// When it was refused, in milliseconds since 1970.
  let time: Int64
  /// The trace of the request.
  let traceparent: String?

  /// Creates a refused payment.
  init(
    publisherId: PublisherId, customerId: CustomerId?, offerId: OfferId, transactionId: TransactionId?,
    couponCode: String? = nil,
    receiptSHA256: [UInt8], time: Int64, traceparent: String? = nil
  ) {
    self.publisherId = publisherId
    self.customerId = customerId
    self.offerId = offerId
    self.transactionId = transactionId
    self.couponCode = couponCode
    self.receiptSHA256 = receiptSHA256
    self.time = time
    self.traceparent = traceparent
  }

  /// The event that tells the failure.
  func event(_ failure: CleengFailure) -> Event {
    Event(
      of: [Hex.encode(receiptSHA256), transactionId?.text ?? "", customerId?.text ?? "", offerId.text, String(time)],
      publisherId: publisherId, customerId: customerId, topic: EventTopic.validationFailed, version: nil, time: time,
      traceparent: traceparent
    ) { data in
      data.member("couponCode", couponCode)
      data.cleengId("customerId", customerId)
      data.member("inAppSpecificData") { $0.member("transactionId", transactionId) }
      data.member("offerId", offerId)
      data.member("paymentGateway", CleengEvents.gateway)
      data.member("result", failure.rawValue)
    }
  }
}
