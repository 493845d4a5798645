/// The classes of ASCII characters that identifiers, numbers and URLs consist of.
///
/// `Character.isNumber` and similar properties also accept digits of other scripts, which no peer of Countersign means.
extension UInt8 {
  /// Whether the byte is one of `0` to `9`.
  @inlinable public var isASCIIDigit: Bool { self &- 0x30 < 10 }

  /// Whether the byte is one of `A` to `Z` or `a` to `z`.
  @inlinable public var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 }

  /// Whether the byte is a letter or a digit.
  @inlinable public var isASCIILetterOrDigit: Bool { isASCIIDigit || isASCIILetter }

  /// Whether the byte is one of `0` to `9` or `a` to `f`.
  @inlinable public var isLowercaseHexDigit: Bool { isASCIIDigit || self &- 0x61 < 6 }

  /// Whether a URL may hold the byte unescaped in any part (RFC 3986, section 2.3).
  @inlinable public var isUnreserved: Bool {
    isASCIILetterOrDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
      || self == UInt8(ascii: "~")
  }
}

extension StringProtocol {
  /// Whether the text consists of ASCII digits only, and of this number of them.
  @inlinable
  public func isASCIIDigits(_ counts: ClosedRange<Int> = 1...Int.max) -> Bool {
    counts.contains(utf8.count) && utf8.allSatisfy(\.isASCIIDigit)
  }

  /// Whether the text consists of ASCII letters, digits, `.`, `_` and `-`, and of this number of them.
  public func isASCIIName(_ counts: ClosedRange<Int>) -> Bool {
    counts.contains(utf8.count) && utf8.allSatisfy { $0.isASCIILetterOrDigit || [0x2d, 0x2e, 0x5f].contains($0) }
  }
}
