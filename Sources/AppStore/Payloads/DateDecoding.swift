extension KeyedDecodingContainer {
  /// Decodes an `Int64` of every payload here but ``TransactionPayload``, which reads its dates itself by the same
  /// rule.
  ///
  /// The compiler's own decoders pick this function over the standard library's. Apple gives dates in whole
  /// milliseconds, but Xcode gives fractions of them. So this function cuts a number under a key that ends in `Date` to
  /// whole milliseconds. Any other fraction, such as a price, is an error.
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    switch try decodeIfPresent(Number.self, forKey: key) {
    case nil: return nil
    case .whole(let whole): return whole
    case .fraction(let fraction):
      guard key.stringValue.hasSuffix("Date"), let whole = Int64(exactly: fraction.rounded(.towardZero)) else {
        throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not a whole number")
      }
      return whole
    }
  }
}

/// A number. A whole number stays an integer, since a `Double` does not hold all of 64 bits.
private enum Number: Decodable {
  case whole(Int64)
  case fraction(Double)

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let whole = try? value.decode(Int64.self) {
      self = .whole(whole)
    } else {
      self = .fraction(try value.decode(Double.self))
    }
  }
}
