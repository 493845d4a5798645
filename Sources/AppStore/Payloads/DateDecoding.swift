extension KeyedDecodingContainer {
  /// Decodes an `Int64` for every payload here: the compiler's own decoders pick this over the standard library's.
  ///
  /// Apple gives dates in whole milliseconds, but Xcode gives fractions of them. A number under a key that ends in
  /// `Date` is therefore cut to whole milliseconds; any other fraction, such as a price, is an error.
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    if let whole = try? decode(Int64.self, forKey: key) { return whole }
    guard key.stringValue.hasSuffix("Date"),
      let whole = Int64(exactly: try decode(Double.self, forKey: key).rounded(.towardZero))
    else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not a whole number")
    }
    return whole
  }
}
