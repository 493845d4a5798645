public import JSON

/// What a client told about a purchase, beside Apple's data. It decides nothing.
public struct PurchaseAttributes: Sendable, Equatable {
  /// The coupon of an offer of the publisher's; renewals keep it.
  public var couponCode: String?
  /// The country of the customer's App Store: ISO 3166-1, two letters.
  public var countryCode: String?
  /// Apple's `identifierForVendor` of the device.
  public var identifierForVendor: String?
  /// The customer's address, IPv4 or IPv6.
  public var ipAddress: String?
  /// A JSON object of the client's.
  public var metadata: [UInt8]?

  /// Creates attributes.
  public init(
    couponCode: String? = nil, countryCode: String? = nil, identifierForVendor: String? = nil,
    ipAddress: String? = nil, metadata: [UInt8]? = nil
  ) {
    self.couponCode = couponCode
    self.countryCode = countryCode
    self.identifierForVendor = identifierForVendor
    self.ipAddress = ipAddress
    self.metadata = metadata
  }

  /// Whether nothing was told.
  public var isEmpty: Bool { self == PurchaseAttributes() }

  /// What stays when the purchase leaves its owner: nothing about a person.
  public var withoutPerson: PurchaseAttributes? {
    couponCode.map { PurchaseAttributes(couponCode: $0) }
  }

  /// These attributes with those of a later request, which count where they say something.
  public func updated(with later: PurchaseAttributes) -> PurchaseAttributes {
    PurchaseAttributes(
      couponCode: later.couponCode ?? couponCode, countryCode: later.countryCode ?? countryCode,
      identifierForVendor: later.identifierForVendor ?? identifierForVendor, ipAddress: later.ipAddress ?? ipAddress,
      metadata: later.metadata ?? metadata)
  }
}

extension PurchaseAttributes {
  /// Reads attributes.
  ///
  /// - Throws: `DecodingError` when a member has another type.
  public init(_ text: JSONText) throws {
    let members = try JSONObject(text)
    self.init(
      couponCode: try members.string("couponCode"), countryCode: try members.string("countryCode"),
      identifierForVendor: try members.string("identifierForVendor"), ipAddress: try members.string("ipAddress"),
      metadata: try members.string("metadata").map { Array($0.utf8) })
  }

  /// The attributes as JSON, the same bytes each time. The metadata is a text in it, so that its bytes stay.
  public var encoded: [UInt8] {
    JSONWriter.object { writer in
      writer.member("countryCode", countryCode)
      writer.member("couponCode", couponCode)
      writer.member("identifierForVendor", identifierForVendor)
      writer.member("ipAddress", ipAddress)
      writer.member("metadata", metadata.map { String(decoding: $0, as: UTF8.self) })
    }
  }

  public static func == (one: PurchaseAttributes, other: PurchaseAttributes) -> Bool {
    one.encoded == other.encoded
  }
}

extension Purchase {
  /// Notes what a client told besides.
  mutating func note(_ later: PurchaseAttributes) {
    attributes = (attributes ?? PurchaseAttributes()).updated(with: later)
  }

  /// Forgets what was told about the owner, who leaves.
  mutating func forgetPerson() { attributes = attributes?.withoutPerson }
}
