import Glibc

/// The addresses that count as one client: an IPv4 address, or the 64 bits of an IPv6 network.
///
/// Whoever has one IPv6 address usually has the whole network (RFC 6177), and could come from a new one each time.
public struct AddressGroup: Hashable, Sendable {
  private enum Network: Hashable {
    case unknown
    case ipv4(UInt32)
    /// The first bits of the addresses, with zeros behind them.
    case ipv6(UInt64, bits: Int)
  }

  private let network: Network

  private init(_ network: Network) { self.network = network }

  /// The group of a numeric address; `nil` or any other text is the group of the unknown ones.
  ///
  /// An IPv4 address counts as itself also where it is written within an IPv6 address: mapped (RFC 4291, section
  /// 2.5.5.2), or by a translator's well-known prefix 64:ff9b::/96 (RFC 6052). All of them would be one network else.
  public init(_ address: String?) {
    var (short, long) = (in_addr(), in6_addr())
    if let address, inet_pton(AF_INET, address, &short) == 1 {
      self.init(.ipv4(UInt32(bigEndian: short.s_addr)))
    } else if let address, inet_pton(AF_INET6, address, &long) == 1 {
      let (high, low) = withUnsafeBytes(of: long) {
        (
          UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
      let isMapped = high == 0 && low >> 32 == 0xffff
      let isTranslated = high == 0x0064_ff9b_0000_0000 && low >> 32 == 0
      let isIPv4 = isMapped || isTranslated
      self.init(isIPv4 ? .ipv4(UInt32(truncatingIfNeeded: low)) : .ipv6(high, bits: 64))
    } else {
      self.init(.unknown)
    }
  }

  /// The 48 bits around an IPv6 network, which hosters give to one customer (RFC 6177); the group itself otherwise.
  public var wide: AddressGroup {
    guard case .ipv6(let bits, _) = network else { return self }
    return AddressGroup(.ipv6(bits & ~0xffff, bits: 48))
  }

  /// The address as text, or the network's with its length, as `2001:db8:1:2::/64`; empty for the unknown ones.
  public var text: String {
    switch network {
    case .unknown: return ""
    case .ipv4(let address):
      return stride(from: 24, through: 0, by: -8).map { "\(address >> $0 & 0xff)" }.joined(separator: ".")
    case .ipv6(let network, let bits):
      let parts = stride(from: 48, through: 64 - bits, by: -16).map { String(network >> $0 & 0xffff, radix: 16) }
      return "\(parts.joined(separator: ":"))::/\(bits)"
    }
  }
}
