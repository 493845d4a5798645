import Crypto
import Domain
import Formats

/// The content of an app receipt: a set of attributes, each with a type, a version and a value.
///
///     ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
///
/// The value is itself DER, except the opaque value and the hash. The reader ignores unknown types, as Apple asks
/// ("Receipt Fields", Receipt Validation Programming Guide).
struct ReceiptPayload {
  /// The fields of the receipt that this reader knows.
  let receipt: AppReceipt
  /// SHA-1 over the device's id, ``opaqueValue`` and ``bundleIdDER``.
  let deviceHash: [UInt8]?
  private let opaqueValue: [UInt8]
  /// The bundle id as it stands in the receipt.
  private let bundleIdDER: [UInt8]

  /// Reads the content of a receipt's signed message.
  init(_ content: [UInt8]) throws(Rejection) {
    var set = try Self.value(content[...])
    // Some receipts have the set inside one more octet string.
    if set.tag == ASN1Reader.Tag.octetString, !set.isConstructed { set = try Self.value(set.content) }
    let attributes = try Attributes(set)
    guard let bundleIdDER = attributes[2] else {
      throw Rejection(.bundleIdMismatch, "the receipt has no bundle id")
    }
    guard let created = try attributes.date(12) else {
      throw Rejection(.dateMissing, "the receipt has no creation date")
    }
    var receipt = AppReceipt(bundleId: BundleId(try attributes.text(2) ?? ""), receiptCreationDate: created)
    receipt.receiptType = try attributes.text(0)
    receipt.applicationVersion = try attributes.text(3)
    receipt.originalApplicationVersion = try attributes.text(19)
    receipt.originalPurchaseDate = try attributes.date(18)
    receipt.expirationDate = try attributes.date(21)
    receipt.inApp = try attributes.purchases.map { value throws(Rejection) in
      try Self.purchase(Attributes(Self.value(value)))
    }
    self.receipt = receipt
    self.bundleIdDER = Array(bundleIdDER)
    opaqueValue = Array(attributes[4] ?? [])
    deviceHash = attributes[5].map(Array.init)
  }

  /// Returns the hash of a receipt that was made for this device.
  ///
  /// The device is given as the bytes of `identifierForVendor`, or on macOS as those of the hardware address.
  func deviceHash(for device: [UInt8]) -> [UInt8] { SHA1.hash(device + opaqueValue + bundleIdDER) }

  private static func purchase(_ attributes: Attributes) throws(Rejection) -> InAppReceipt {
    var purchase = InAppReceipt()
    purchase.quantity = try attributes.integer(1701)
    purchase.productId = try attributes.text(1702).map(ProductId.init(_:))
    purchase.transactionId = try attributes.text(1703).map(TransactionId.init(_:))
    purchase.purchaseDate = try attributes.date(1704)
    purchase.originalTransactionId = try attributes.text(1705).map(OriginalTransactionId.init(_:))
    purchase.originalPurchaseDate = try attributes.date(1706)
    purchase.expiresDate = try attributes.date(1708)
    purchase.webOrderLineItemId = try attributes.integer(1711)
    purchase.cancellationDate = try attributes.date(1712)
    purchase.isTrialPeriod = try attributes.integer(1713).map { $0 != 0 }
    purchase.isInIntroOfferPeriod = try attributes.integer(1719).map { $0 != 0 }
    purchase.promotionalOfferId = try attributes.text(1721)
    return purchase
  }

  fileprivate static func value(_ bytes: ArraySlice<UInt8>) throws(Rejection) -> ASN1Reader.Value {
    do { return try ASN1Reader.value(bytes) } catch { throw malformed("the receipt's content is not DER") }
  }

  fileprivate static func malformed(_ text: String) -> Rejection { Rejection(.malformed, text) }
}

/// The attributes of a receipt or of a purchase in it, by type.
private struct Attributes {
  /// The values of the in-app attribute. Only this attribute may occur more than once.
  private(set) var purchases: [ArraySlice<UInt8>] = []
  private var values: [Int64: ArraySlice<UInt8>] = [:]

  private static let purchaseType: Int64 = 17
  /// The types that this reader uses. A receipt may have each of them once at most; other types may repeat.
  private static let readTypes: Set<Int64> = [
    0, 2, 3, 4, 5, 12, 18, 19, 21, 1701, 1702, 1703, 1704, 1705, 1706, 1708, 1711, 1712, 1713, 1719, 1721,
  ]

  init(_ set: ASN1Reader.Value) throws(Rejection) {
    guard set.tag == ASN1Reader.Tag.set, set.isConstructed else {
      throw ReceiptPayload.malformed("the receipt's content is not a set of attributes")
    }
    do {
      var reader = ASN1Reader(set.content)
      while let attribute = try reader.next() { try add(attribute) }
    } catch let rejection as Rejection {
      throw rejection
    } catch {
      throw ReceiptPayload.malformed("an attribute of the receipt is not DER")
    }
  }

  private mutating func add(_ attribute: ASN1Reader.Value) throws {
    guard attribute.tag == ASN1Reader.Tag.sequence, attribute.isConstructed else { throw ASN1Reader.Malformed() }
    var reader = ASN1Reader(attribute.content)
    guard let type = try reader.next()?.integer, try reader.next()?.integer != nil, let value = try reader.next(),
      value.tag == ASN1Reader.Tag.octetString, !value.isConstructed, reader.isAtEnd
    else { throw ASN1Reader.Malformed() }
    if type == Self.purchaseType {
      purchases.append(value.content)
    } else if values.updateValue(value.content, forKey: type) != nil, Self.readTypes.contains(type) {
      // If a receipt had two bundle ids, each reader would choose for itself which one counts.
      throw ReceiptPayload.malformed("the receipt has the attribute \(type) twice")
    }
  }

  subscript(type: Int64) -> ArraySlice<UInt8>? { values[type] }

  func integer(_ type: Int64) throws(Rejection) -> Int64? {
    guard let bytes = values[type] else { return nil }
    guard let integer = try ReceiptPayload.value(bytes).integer else { throw wrong(type) }
    return integer
  }

  /// Returns a text; `nil` when it is empty.
  func text(_ type: Int64) throws(Rejection) -> String? {
    guard let bytes = values[type] else { return nil }
    guard let text = try ReceiptPayload.value(bytes).text else { throw wrong(type) }
    return text.isEmpty ? nil : text
  }

  func date(_ type: Int64) throws(Rejection) -> Int64? {
    guard let text = try text(type) else { return nil }
    guard let date = milliseconds(rfc3339: text) else { throw wrong(type) }
    return date
  }

  private func wrong(_ type: Int64) -> Rejection {
    ReceiptPayload.malformed("the receipt's attribute \(type) has the wrong form")
  }
}
