import Formats
public import JSON

/// An entitlement as an event told it last. It is never the source of an answer: access is computed when it is read.
public struct ToldEntitlement: Sendable, Equatable {
  public var offerId: OfferId
  public var accessGranted: Bool
  /// Milliseconds since 1970.
  public var expiresAt: Int64?
  public var willRenew: Bool?
  public var billingProblem: Bool
  public var environment: Environment
  /// `true` while Apple has not confirmed the purchase (`grantWhileAppleIsAway`); otherwise `nil`.
  public var provisional: Bool?
  /// `true` while a grant gives the access, and no purchase; otherwise `nil`.
  public var granted: Bool?

  /// Creates an entitlement.
  public init(
    offerId: OfferId, accessGranted: Bool, expiresAt: Int64? = nil, willRenew: Bool? = nil,
    billingProblem: Bool = false, environment: Environment, isProvisional: Bool = false, isGranted: Bool = false
  ) {
    self.offerId = offerId
    self.accessGranted = accessGranted
    self.expiresAt = expiresAt
    self.willRenew = willRenew
    self.billingProblem = billingProblem
    self.environment = environment
    provisional = isProvisional ? true : nil
    granted = isGranted ? true : nil
  }

  public static func == (one: ToldEntitlement, other: ToldEntitlement) -> Bool {
    one.offerId == other.offerId && one.accessGranted == other.accessGranted
      && one.expiresAt == other.expiresAt && one.willRenew == other.willRenew
      && one.billingProblem == other.billingProblem && one.environment == other.environment
      && one.provisional == other.provisional && one.granted == other.granted
  }

  /// Writes the members of the entitlement as events show them, in the order of their names.
  public func tell(to writer: inout JSONWriter) {
    writer.member("accessGranted", accessGranted)
    writer.member("billingProblem", billingProblem)
    writer.member("environment", environment)
    writer.member("expiresAt", expiresAt.map { rfc3339(milliseconds: $0) })
    writer.member("granted", granted)
    writer.member("offerId", offerId)
    writer.member("provisional", provisional)
    writer.member("willRenew", willRenew)
  }

  /// Writes the members of the entitlement as the ledger keeps them, in the order of their names.
  public func write(to writer: inout JSONWriter) {
    writer.member("accessGranted", accessGranted)
    writer.member("billingProblem", billingProblem)
    writer.member("environment", environment)
    writer.member("expiresAt", expiresAt)
    writer.member("granted", granted)
    writer.member("offerId", offerId)
    writer.member("provisional", provisional)
    writer.member("willRenew", willRenew)
  }

  /// Returns a list's JSON. Equal lists have equal bytes.
  public static func json(of list: [ToldEntitlement]) -> [UInt8] {
    var writer = JSONWriter()
    writer.raw(UInt8(ascii: "["))
    for (index, entitlement) in list.enumerated() {
      if index > 0 { writer.raw(UInt8(ascii: ",")) }
      writer.raw(JSONWriter.object(entitlement.write))
    }
    writer.raw(UInt8(ascii: "]"))
    return writer.bytes
  }

  /// Reads a list; ignores members that it does not know.
  ///
  /// - Throws: `JSONSyntaxError` or `DecodingError`.
  public static func list(from json: [UInt8]) throws -> [ToldEntitlement] { try JSONText(json, limits: .own).decoded() }
}

extension ToldEntitlement: Decodable {}
