/// The addresses that may receive webhooks: the public internet, and the blocks that the platform team allows besides.
///
/// A publisher chooses the URL, and with it a target for requests from this fleet's network. Without this policy, a
/// webhook could read a cloud's metadata or reach a database. The policy judges the address at the moment a socket
/// opens to it. So a name that resolves to another address the second time does not get around the policy.
public struct AddressPolicy: Sendable, Equatable {
  /// Blocks that are allowed although they are not public.
  public let allowed: [AddressBlock]

  /// Creates a policy.
  public init(allowing allowed: [AddressBlock] = []) { self.allowed = allowed }

  /// Whether a client may open a socket to an address.
  public func allows(_ address: NetworkAddress) -> Bool {
    if allowed.contains(where: { $0.contains(address) }) { return true }
    guard !Self.forbidden.contains(where: { $0.contains(address) }) else { return false }
    // An IPv6 address that leads to an IPv4 address is as good as that IPv4 address.
    return Self.embedded(in: address).allSatisfy { inner in
      allowed.contains { $0.contains(inner) } || !Self.forbidden.contains { $0.contains(inner) }
    }
  }

  /// The special-purpose registries of IANA (RFC 6890), and the addresses in them that are not the public internet.
  ///
  /// Metadata services of clouds have link-local and unique-local addresses, and two named addresses.
  static let forbidden: [AddressBlock] = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    // Azure's WireServer has a public address that only Azure's machines can reach.
    "168.63.129.16/32",
    // The first block has the unspecified, loopback, compatible and mapped forms. The policy checks embedded addresses
    // too.
    "::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2620:4f:8000::/48",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
  ].map { text in
    guard let block = AddressBlock(text) else { preconditionFailure("\(text) is not a block of addresses.") }
    return block
  }

  /// The IPv4 addresses to which an IPv6 address leads: mapped (RFC 4291), translated (RFC 6052, RFC 2765), 6to4 (RFC
  /// 3056), ISATAP (RFC 5214).
  private static func embedded(in address: NetworkAddress) -> [NetworkAddress] {
    let bytes = address.bytes
    guard bytes.count == 16 else { return [] }
    var found: [ArraySlice<UInt8>] = []
    for prefix in translating where prefix.contains(address) { found.append(bytes[12...]) }
    if bytes[0] == 0x20, bytes[1] == 0x02 { found.append(bytes[2..<6]) }
    if bytes[8] & 0xfd == 0, bytes[9] == 0, bytes[10] == 0x5e, bytes[11] == 0xfe { found.append(bytes[12...]) }
    return found.compactMap { NetworkAddress(bytes: $0) }
  }

  private static let translating = ["::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"].compactMap { AddressBlock($0) }
}
