import JSON

extension JSONLimits {
  /// The header of a JWS: the algorithm, and up to four certificates. Apple writes three, and Xcode one.
  static let jwsHeader = JSONLimits(depth: 3, members: 16, elements: 4, values: 64, nameBytes: 64)

  /// The payload of a JWS. Anybody can sign one with a key of their own, so it is read before anybody knows the signer.
  static let jwsPayload = JSONLimits(depth: 16, members: 256, elements: 256, values: 4096, nameBytes: 256)

  /// The body of a notification. Version 1 lists the last 100 transactions, each with about 30 members, and a renewal
  /// for each subscription.
  static let notification = JSONLimits(depth: 8, members: 128, elements: 500, values: 20_000, nameBytes: 64)
}
