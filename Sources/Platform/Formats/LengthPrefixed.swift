extension Sequence where Element == String {
  /// The texts as one text: each one behind the number of its bytes. So no two lists have the same text.
  public var lengthPrefixed: String { map { "\($0.utf8.count):\($0)" }.joined() }
}
