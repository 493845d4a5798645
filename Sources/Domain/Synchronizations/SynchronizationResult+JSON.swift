public import JSON

/// The result as the ledger keeps it.
extension SynchronizationResult {
  /// The result as JSON; the same result has the same bytes.
  public var encoded: [UInt8] {
    JSONWriter.object { writer in
      writer.member("accessGranted", accessGranted)
      writer.member("environment", environment)
      writer.member("firstGrant", consumable?.isFirstGrant)
      writer.member("offerId", offerId)
      writer.member("originalTransactionId", originalTransactionId)
      writer.member("productId", consumable?.productId)
      writer.member("quantity", consumable.map { Int64($0.quantity) })
      writer.member("result", code.rawValue)
    }
  }

  /// Reads a result.
  ///
  /// - Throws: `DecodingError` when a member is missing or has another type.
  public init(_ text: JSONText) throws {
    let members = try JSONObject(text)
    self.init(
      ResultCode(rawValue: try members.requiredString("result")),
      accessGranted: try members.bool("accessGranted") ?? false,
      offerId: try members.string("offerId").map(OfferId.init(_:)),
      originalTransactionId: try members.string("originalTransactionId").map(OriginalTransactionId.init(_:)),
      environment: try members.string("environment").map(Environment.init(_:)))
    if let product = try members.string("productId"), let quantity = try members.int32("quantity"),
      let isFirst = try members.bool("firstGrant")
    {
      consumable = ConsumableGrant(productId: ProductId(product), quantity: quantity, isFirstGrant: isFirst)
    }
  }
}
