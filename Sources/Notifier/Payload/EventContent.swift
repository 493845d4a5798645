import Domain
import Formats
import JSON
import Ledger
import Messaging

/// The content of an event about a purchase, or of a test event, for the formats of other vendors.
struct EventContent {
  let id: String
  let isTest: Bool
  /// The time in RFC 3339, as the event's header gives it; `nil` without one.
  let time: String?
  let data: Fields

  /// The members of the event's `data`. A test event has none of these members.
  struct Fields: Decodable {
    var accessGranted: Bool?
    var customerId: String?
    var environment: String?
    var offerId: String?
    var originalTransactionId: String?
    var result: String?
    var transactionId: String?
  }

  /// Reads an event; `nil` if it is about something else, or does not have the documented shape.
  init?(_ delivery: Delivery) {
    struct Envelope: Decodable { let data: Fields }
    isTest = delivery.topic == EventTopic.test
    guard isTest || delivery.topic == EventTopic.synchronizationResult else { return nil }
    let envelope = try? JSONText(delivery.body).decoded(as: Envelope.self)
    guard let data = envelope?.data ?? (isTest ? Fields() : nil) else { return nil }
    self.data = data
    id = delivery.eventId
    time = delivery.time
  }

  /// The event's id. It has the form of a UUID if it has 128 bits.
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

  /// Whether the purchase is from Apple's sandbox; `nil` if the event does not say.
  var isSandbox: Bool? { data.environment.map { $0.utf8.elementsEqual("Sandbox".utf8) } }

  /// Whether the purchase has expired; `nil` if the result does not say.
  var isExpired: Bool? {
    switch data.result.map(SynchronizationResult.init(rawValue:)) {
    case .purchaseSynchronized: false
    case .receivedExpiredPurchase: true
    default: nil
    }
  }

  /// Fovea's word for this change.
  var foveaReason: String {
    switch data.result.map(SynchronizationResult.init(rawValue:)) {
    case .purchaseSynchronized: "RECEIPT_VALIDATED"
    case .receivedExpiredPurchase: "EXPIRED"
    case .purchaseRevoked: "REVOKED"
    default: "OTHER"
    }
  }
}
