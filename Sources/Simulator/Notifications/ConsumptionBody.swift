import Formats
import JSON

/// The body of Send Consumption Information, as Apple checks it.
struct ConsumptionBody: Equatable, Sendable {
  var value: JSONValue

  /// Reads a body.
  ///
  /// - Parameters:
  ///   - version: 1 or 2, as in the path.
  ///   - kind: the type of product, if it is known.
  init(_ body: [UInt8], version: Int, kind: LifeKind?) throws(StoreFailure) {
    guard let text = try? JSONText(body), let value = try? text.decoded(as: JSONValue.self), case .object = value else {
      throw .badRequest
    }
    self.value = value
    guard value["customerConsented"] == .bool(true) else { throw .invalidCustomerConsented }
    guard case .bool = value["sampleContentProvided"] else { throw .invalidSampleContent }
    if version == 1 {
      try checkOld(kind)
    } else {
      try checkNew(kind)
    }
  }

  /// Version 2.
  private func checkNew(_ kind: LifeKind?) throws(StoreFailure) {
    try refuseStrangers([
      "customerConsented", "sampleContentProvided", "deliveryStatus", "consumptionPercentage", "refundPreference",
    ])
    guard case .string(let delivery) = value["deliveryStatus"], Self.deliveries.contains(delivery) else {
      throw .invalidDeliveryStatus
    }
    let percentage: Int64?
    switch value["consumptionPercentage"] {
    case nil, .null?: percentage = nil
    case .integer(let number)? where 0...100_000 ~= number: percentage = number
    default: throw .unnumbered("The consumption percentage is out of range.")
    }
    guard percentage == nil || kind != .autoRenewable else {
      throw .unnumbered("An auto-renewable subscription takes no consumption percentage.")
    }
    guard percentage ?? 0 == 0 || delivery == "DELIVERED" else {
      throw .unnumbered("The consumption percentage must be zero for the delivery status.")
    }
    switch value["refundPreference"] {
    case nil, .null?, .string("DECLINE")?, .string("GRANT_FULL")?: break
    case .string("GRANT_PRORATED")?:
      guard kind == .autoRenewable || percentage.map({ 1..<100_000 ~= $0 }) == true else {
        throw .unnumbered("A prorated refund needs a consumption percentage.")
      }
    default: throw .unnumbered("Invalid refund preference.")
    }
  }

  private static let deliveries: Set<String> = [
    "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
    "UNDELIVERED_OTHER",
  ]

  /// Version 1: every number is the place of an answer in a list.
  private func checkOld(_ kind: LifeKind?) throws(StoreFailure) {
    guard kind != .nonConsumable, kind != .nonRenewing else { throw .typeNotSupported }
    try refuseStrangers(
      Self.oldMembers.map(\.name) + ["customerConsented", "sampleContentProvided", "appAccountToken"])
    guard case .string = value["appAccountToken"] else { throw .invalidConsumptionToken }
    for member in Self.oldMembers {
      switch value[member.name] {
      case .integer(let number)? where 0...member.most ~= number: break
      case nil where !member.isRequired: break
      default: throw StoreFailure(code: member.code, message: "Invalid \(member.name).")
      }
    }
  }

  private static let oldMembers: [(name: String, most: Int64, code: Int, isRequired: Bool)] = [
    ("accountTenure", 7, 4_000_032, true), ("consumptionStatus", 3, 4_000_034, true),
    ("deliveryStatus", 5, 4_000_036, true), ("lifetimeDollarsPurchased", 7, 4_000_037, true),
    ("lifetimeDollarsRefunded", 7, 4_000_038, true), ("platform", 2, 4_000_039, true), ("playTime", 7, 4_000_040, true),
    ("userStatus", 4, 4_000_042, true), ("refundPreference", 3, 4_000_000, false),
  ]

  private func refuseStrangers(_ known: [String]) throws(StoreFailure) {
    guard case .object(let members) = value, members.keys.allSatisfy({ known.contains($0.text) }) else {
      throw .badRequest
    }
  }
}

extension JSONValue {
  /// The member of an object.
  fileprivate subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }
}
