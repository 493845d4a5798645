import Formats
public import Transport

/// The URLs that an endpoint may have, as far as the text tells. The notifier checks the addresses of a name when it
/// connects.
public struct WebhookAddress: Sendable, Equatable {
  /// Whether `http` is allowed.
  public let allowsHTTP: Bool
  /// The numeric addresses that are allowed.
  public let policy: AddressPolicy

  static let maxBytes = 2048

  /// Creates a rule; without arguments it takes public addresses over `https` only.
  public init(allowsHTTP: Bool = false, policy: AddressPolicy = AddressPolicy()) {
    self.allowsHTTP = allowsHTTP
    self.policy = policy
  }

  /// Says what is wrong with a URL; `nil` when nothing is wrong. The answer leaves out the URL, which may hold a
  /// secret.
  ///
  /// The rule is stricter than RFC 3986 where readers of URLs are known to disagree. This code must check the same
  /// host that the notifier connects to.
  public func defect(of url: String) -> String? {
    guard (1...Self.maxBytes).contains(url.utf8.count) else {
      return "expected a URL of at most \(Self.maxBytes) bytes"
    }
    guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
      return "has a character that a URL must not have; encode it with % (RFC 3986), a host's name in Punycode"
    }
    let scheme = url.prefix { $0 != ":" }.lowercased()
    guard scheme == "https" || scheme == "http" else { return "expected an https:// URL" }
    guard scheme == "https" || allowsHTTP else { return "is not encrypted, expected an https:// URL" }
    let rest = url.dropFirst(scheme.count)
    guard rest.hasPrefix("://") else { return "expected an \(scheme):// URL" }
    guard !rest.contains("#") else { return "has a fragment (#), which no server gets to see" }
    let authority = rest.dropFirst(3).prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@") else {
      return "has a user name or password; webhooks are authenticated by their signature"
    }
    return defect(ofAuthority: authority)
  }

  private func defect(ofAuthority authority: Substring) -> String? {
    let port: Substring?
    let address: NetworkAddress?
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return "expected an IPv6 address in brackets" }
      let after = authority[authority.index(after: end)...]
      guard after.isEmpty || after.first == ":" else { return "expected a port after the address" }
      port = after.isEmpty ? nil : after.dropFirst()
      address = NetworkAddress(authority[authority.index(after: authority.startIndex)..<end])
      guard address?.bytes.count == 16 else { return "has no IPv6 address in its brackets" }
    } else {
      let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      port = parts.count == 2 ? parts[1] : nil
      if let defect = defect(ofHost: parts[0]) { return defect }
      address = NetworkAddress(parts[0])
      // Some readers take 127.1, 0x7f000001 and 2130706433 for addresses. The last label of a name is never a number.
      if address == nil, looksNumeric(parts[0]) {
        return "expected an IPv4 address as four numbers, or the name of a host"
      }
    }
    if let port {
      // No sign and no space, and five digits at most.
      guard port.isASCIIDigits(1...5), let number = Int(port), (1...65535).contains(number)
      else { return "expected a port from 1 to 65535" }
    }
    if let address, !policy.allows(address) {
      return "leads to an address that is not public; notifier.allowedNetworks can admit its network"
    }
    return nil
  }

  /// Judges the form of a name or of an IPv4 address.
  private func defect(ofHost host: Substring) -> String? {
    let parts = labels(host)
    guard host.utf8.count <= 253, parts.allSatisfy({ (1...63).contains($0.utf8.count) }) else {
      return "expected the name of a host"
    }
    let isName = parts.allSatisfy { label in
      label.utf8.allSatisfy { byte in
        byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
    }
    return isName ? nil : "expected the name of a host"
  }

  private func looksNumeric(_ host: Substring) -> Bool {
    let last = labels(host).last?.lowercased() ?? ""
    return last.isASCIIDigits(0...Int.max) || last.hasPrefix("0x")
  }

  /// The parts between the dots. A dot at the end only says that the name is whole.
  private func labels(_ host: Substring) -> [Substring] {
    var parts = host.split(separator: ".", omittingEmptySubsequences: false)
    if parts.count > 1, parts.last == "" { parts.removeLast() }
    return parts
  }
}
