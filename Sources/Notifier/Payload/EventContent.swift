import Domain
import Formats
import JSON
import Ledger
import Messaging

/// What an event about a purchase, or a test event, tells; for the formats that are not its own.
struct EventContent {
  let id: String
  let isTest: Bool
  /// RFC 3339, as its publisher said; `nil` when it did not.
  let time: String?
  let data: Fields

  /// The members of the event's `data`; a test event has none of them.
  struct Fields: Decodable {
    var accessGranted: Bool?
    var cleengCustomerId: Int64?
    var environment: String?
    var offerId: String?
    var originalTransactionId: String?
    var result: String?
    var transactionId: String?
  }

  /// Reads an event; `nil` when it is about something else, or has not the documented shape.
  init?(_ delivery: Delivery) {
    struct Envelope: Decodable { let data: Fields }
    isTest = delivery.topic == EventMessage.testTopic
    guard isTest || delivery.topic == PurchaseEvent.topic else { return nil }
    let envelope = try? JSONText(delivery.body).decoded(as: Envelope.self)
    guard let data = envelope?.data ?? (isTest ? Fields() : nil) else { return nil }
    self.data = data
    id = delivery.eventId
    time = delivery.time
  }

  /// The event's id in the form of a UUID where it has the 128 bits for one.
  var uuid: String {
    let digits = Array(id.utf8.drop { $0 != UInt8(ascii: "_") }.dropFirst())
    let isHex = digits.allSatisfy(\.isLowercaseHexDigit)
    guard digits.count == 32, isHex else { return id }
    var parts: [String] = []
    var rest = digits[...]
    for length in [8, 4, 4, 4, 12] {
      parts.append(String(decoding: rest.prefix(length), as: UTF8.self))
      rest = rest.dropFirst(length)
    }
    return parts.joined(separator: "-")
  }

  /// Whether the purchase is from Apple's sandbox; `nil` when it is not known.
  var isSandbox: Bool? { data.environment.map { $0.utf8.elementsEqual("Sandbox".utf8) } }

  /// Whether the purchase's time is over; `nil` when the result does not say.
  var isExpired: Bool? {
    switch data.result.map(SynchronizationResult.init(rawValue:)) {
    case .purchaseSynchronized: false
    case .receivedExpiredPurchase: true
    default: nil
    }
  }

  /// Fovea's word for what happened.
  var foveaReason: String {
    switch data.result.map(SynchronizationResult.init(rawValue:)) {
    case .purchaseSynchronized: "RECEIPT_VALIDATED"
    case .receivedExpiredPurchase: "EXPIRED"
    case .purchaseRevoked: "REVOKED"
    default: "OTHER"
    }
  }
}
