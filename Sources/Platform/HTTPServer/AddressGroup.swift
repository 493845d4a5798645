import Glibc

/// The addresses that count as one client: an IPv4 address, or the 64 bits of an IPv6 network.
///
/// Whoever has one IPv6 address usually has the whole network (RFC 6177), and could come from a new one each time.
struct AddressGroup: Hashable, Sendable {
  /// The address as text, or the network's with `/64` behind it; empty for all clients whose address is not known.
  let text: String

  /// The group of a numeric address; `nil` or any other text is the group of the unknown ones.
  init(_ address: String?) {
    guard let address, address.utf8.contains(UInt8(ascii: ":")) else {
      text = address ?? ""
      return
    }
    var bytes = in6_addr()
    guard inet_pton(AF_INET6, address, &bytes) == 1 else {
      text = ""
      return
    }
    let network = withUnsafeBytes(of: bytes) { $0.prefix(8).map { $0 } }
    text =
      stride(from: 0, to: 8, by: 2)
      .map { String(UInt16(network[$0]) << 8 | UInt16(network[$0 + 1]), radix: 16) }.joined(separator: ":") + "::/64"
  }
}
