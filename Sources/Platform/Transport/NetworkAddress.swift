import Formats
import Glibc

/// An IPv4 or IPv6 address, as its bytes.
public struct NetworkAddress: Sendable, Hashable {
  /// 4 or 16 bytes, the most significant first.
  public let bytes: [UInt8]

  /// Creates an address; `nil` unless there are 4 or 16 bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  /// Reads `192.0.2.1` or `2001:db8::1` (RFC 4291, section 2.2), without brackets or a zone; `nil` for any other text.
  public init?(_ text: some StringProtocol) {
    let bytes = text.contains(":") ? Self.sixteen(String(text)) : Self.four(String(text))
    guard let bytes else { return nil }
    self.bytes = bytes
  }

  /// The address as people write it: `192.0.2.1`, or `2001:db8::1` (RFC 5952).
  public var text: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      let family = bytes.count == 4 ? AF_INET : AF_INET6
      // The buffer has room for every address, so this cannot fail.
      _ = bytes.withUnsafeBytes { inet_ntop(family, $0.baseAddress, text.baseAddress, socklen_t(text.count)) }
      return String(cString: text.baseAddress!)
    }
  }

  private static func four(_ text: String) -> [UInt8]? {
    let words = text.split(separator: ".", omittingEmptySubsequences: false)
    // Some systems read a number with a leading zero as octal, and others as decimal.
    let bytes = words.compactMap { word -> UInt8? in
      let isNumber = word.isASCIIDigits() && (word.utf8.count == 1 || word.first != "0")
      return isNumber ? UInt8(word) : nil
    }
    return words.count == 4 && bytes.count == 4 ? bytes : nil
  }

  private static func sixteen(_ text: String) -> [UInt8]? {
    guard !text.hasPrefix(":::"), let gap = text.firstRange(of: "::") else { return groups(text, exactly: 16) }
    let (front, back) = (String(text[..<gap.lowerBound]), String(text[gap.upperBound...]))
    guard let head = front.isEmpty ? [] : groups(front, mayEndInFour: false),
      let tail = back.isEmpty ? [] : groups(back),
      head.count + tail.count <= 14
    else { return nil }
    return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
  }

  /// The bytes of groups between colons. The last group may be an IPv4 address.
  private static func groups(_ text: String, exactly count: Int? = nil, mayEndInFour: Bool = true) -> [UInt8]? {
    let words = text.split(separator: ":", omittingEmptySubsequences: false)
    var bytes: [UInt8] = []
    for (index, word) in words.enumerated() {
      if mayEndInFour, index == words.count - 1, word.contains(".") {
        guard let last = four(String(word)) else { return nil }
        bytes += last
      } else {
        let isHex = word.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        guard isHex, (1...4).contains(word.utf8.count), let group = UInt16(word, radix: 16) else { return nil }
        bytes += [UInt8(group >> 8), UInt8(group & 255)]
      }
    }
    return count == nil || bytes.count == count ? bytes : nil
  }
}

/// A block of addresses that begin with the same bits, written as `10.0.0.0/8` (CIDR).
public struct AddressBlock: Sendable, Hashable {
  /// The address that has the block's first bits.
  public let address: NetworkAddress
  /// The number of these bits.
  public let length: Int

  /// Reads a block; `nil` when the text is not a block, or has bits beyond its length. An address alone is a block of
  /// one.
  public init?(_ text: String) {
    let words = text.split(separator: "/", omittingEmptySubsequences: false)
    guard words.count <= 2, let address = NetworkAddress(words[0]) else { return nil }
    let bits = address.bytes.count * 8
    guard words.count == 2 else {
      (self.address, length) = (address, bits)
      return
    }
    guard words[1].isASCIIDigits(), let length = Int(words[1]), length <= bits else {
      return nil
    }
    (self.address, self.length) = (address, length)
    let rest = (length..<bits).contains { address.bytes[$0 / 8] & (0x80 >> UInt8($0 % 8)) != 0 }
    if rest { return nil }
  }

  /// Whether an address is in the block.
  public func contains(_ other: NetworkAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let (whole, bits) = (length / 8, length % 8)
    guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
    guard bits > 0 else { return true }
    let mask = UInt8(truncatingIfNeeded: 0xff00 >> bits)
    return other.bytes[whole] & mask == address.bytes[whole] & mask
  }
}
