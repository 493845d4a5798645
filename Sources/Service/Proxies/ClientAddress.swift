import Formats
public import HTTPServer
public import Transport

/// The address of the client behind a request: the socket's peer, or the address that a trusted proxy names.
///
/// Any client can send `X-Forwarded-For`. So the field counts only if the socket's peer is a listed proxy, and of its
/// addresses only what listed proxies have added.
public enum ClientAddress {
  /// Whether the numeric address of a socket's peer is a listed proxy's.
  public static func isProxy(_ peer: String, in proxies: [AddressBlock]) -> Bool {
    guard !proxies.isEmpty, let peer = address(peer) else { return false }
    return proxies.contains { $0.contains(peer) }
  }

  /// Returns the last address of the way that is not a listed proxy's. If all are listed proxies, it is the first one.
  /// `nil` if it is not known.
  ///
  /// - Parameter fields: the values of `X-Forwarded-For`, in their order. Each proxy adds the address of its own peer
  ///   at the end.
  public static func of(peer: String?, forwardedFor fields: [String], behind proxies: [AddressBlock]) -> String? {
    network(peer: peer, forwardedFor: fields, behind: proxies)?.text
  }

  private static func network(
    peer: String?, forwardedFor fields: [String], behind proxies: [AddressBlock]
  ) -> NetworkAddress? {
    guard let peer = peer.flatMap(address) else { return nil }
    func isProxy(_ address: NetworkAddress) -> Bool { proxies.contains { $0.contains(address) } }
    var client = peer
    // From the end, and no further than listed proxies lead: the rest is anybody's, and a client can make it long.
    for field in fields.reversed() {
      var rest = field.utf8[...]
      while true {
        guard isProxy(client) else { return client }
        let comma = rest.lastIndex(of: UInt8(ascii: ","))
        let text = String(Substring(rest[(comma.map(rest.index(after:)) ?? rest.startIndex)...])).trimmed
        if !text.isEmpty {
          // What is in front of a text that is no address may be anybody's. So nobody knows the client.
          guard let next = address(text) else { return nil }
          client = next
        }
        guard let comma else { break }
        rest = rest[..<comma]
      }
    }
    return client
  }

  /// Reads an address, which may have a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
  private static func address(_ text: String) -> NetworkAddress? {
    var text = text
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      guard isPort(text[end...].dropFirst()) else { return nil }
      text = String(text[..<end].dropFirst())
    } else if text.contains("."), text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
      guard isPort(text[colon...]) else { return nil }
      text = String(text[..<colon])
    }
    return NetworkAddress(text).map(\.unmapped)
  }

  /// Whether a text is nothing, or a colon and a port.
  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.first == ":" && text.dropFirst().isASCIIDigits(1...5)
  }
}

extension HTTPServer.Configuration {
  /// Takes the client of a request from `X-Forwarded-For` if one of these proxies brings it.
  public mutating func trust(_ proxies: [AddressBlock]) {
    isProxy = { ClientAddress.isProxy($0, in: proxies) }
    clientBehindProxy = { proxy, headers in
      let named = headers.filter { $0.name.lowercased() == "x-forwarded-for" }.map(\.value)
      return ClientAddress.of(peer: proxy, forwardedFor: named, behind: proxies)
    }
  }
}

extension NetworkAddress {
  private static let mapped = AddressBlock("::ffff:0:0/96")

  /// The IPv4 address that an IPv6 address stands for; any other address as it is.
  fileprivate var unmapped: NetworkAddress {
    Self.mapped?.contains(self) == true ? NetworkAddress(bytes: bytes[12...]) ?? self : self
  }
}

extension String {
  /// The text without the spaces and tabs around it.
  fileprivate var trimmed: String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}
