import Crypto

extension Evidence {
  /// SHA-256 of what the payload says, without its date: two pieces with the same value differ in `signedDate` only.
  /// Apple signs the same facts anew whenever somebody asks.
  ///
  /// A transaction that a device signs has two more members that say nothing about the purchase, and differ each time.
  public var contentSHA256: [UInt8] {
    SHA256.hash(Self.without(["signedDate", "deviceVerification", "deviceVerificationNonce"], payload))
  }

  /// Cuts the values of members out of JSON. A member whose name is there twice, or whose value is neither a number nor
  /// a text without escapes, stays: then the pieces differ, and both are kept.
  static func without(_ names: [StaticString], _ json: [UInt8]) -> [UInt8] {
    var rest = json
    for name in names {
      let quoted = name.withUTF8Buffer { [UInt8(ascii: "\"")] + $0 + [UInt8(ascii: "\"")] }
      let places = rest.places(of: quoted)
      guard places.count == 1, let value = rest.simpleValue(after: places[0] + quoted.count) else { continue }
      rest.removeSubrange(value)
    }
    return rest
  }
}

extension [UInt8] {
  /// Where a text begins.
  fileprivate func places(of text: [UInt8]) -> [Int] {
    guard text.count <= count else { return [] }
    return (0...count - text.count).filter { self[$0] == text[0] && self[$0..<$0 + text.count].elementsEqual(text) }
  }

  /// The bytes of a number or of a plain text behind a member's name and its colon; `nil` for anything else.
  fileprivate func simpleValue(after name: Int) -> Range<Int>? {
    func skippingSpaces(_ place: Int) -> Int { self[place...].firstIndex { $0 > 0x20 } ?? count }
    let colon = skippingSpaces(name)
    guard colon < count, self[colon] == UInt8(ascii: ":") else { return nil }
    let start = skippingSpaces(colon + 1)
    guard start < count else { return nil }
    if self[start] == UInt8(ascii: "\"") {
      let stops = [UInt8(ascii: "\""), UInt8(ascii: "\\")]
      guard let end = self[(start + 1)...].firstIndex(where: stops.contains), self[end] == stops[0] else { return nil }
      return start..<end + 1
    }
    let end = self[start...].firstIndex { !(0x30...0x39).contains($0) } ?? count
    return end > start ? start..<end : nil
  }
}
