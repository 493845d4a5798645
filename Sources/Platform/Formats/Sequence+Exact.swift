extension Sequence<String> {
  /// Whether a text is among these, byte for byte.
  @inlinable public func containsExactly(_ text: String) -> Bool { contains { $0.isExactly(text) } }

  /// Whether two of these have the same bytes.
  public var hasRepetition: Bool {
    var seen: Set<ExactText> = []
    return contains { !seen.insert(ExactText($0)).inserted }
  }
}
