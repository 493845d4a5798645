import Glibc

/// Which URLs an endpoint may have, as far as the text tells: where a name leads is looked at when it is connected to.
struct WebhookAddress {
  /// Whether `http` will do.
  let allowsHTTP: Bool
  /// Whether a numeric address may be connected to.
  let allows: @Sendable (String) -> Bool

  static let maxBytes = 2048

  /// Says what is wrong with a URL; `nil` when nothing is.
  ///
  /// Stricter than RFC 3986 where readers of URLs have been known to disagree: the host that is checked here and the
  /// one that is connected to must not be two.
  func defect(of url: String) -> String? {
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
    let host: Substring
    let port: Substring?
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return "expected an IPv6 address in brackets" }
      host = authority[authority.index(after: authority.startIndex)..<end]
      let after = authority[authority.index(after: end)...]
      guard after.isEmpty || after.first == ":" else { return "expected a port after the address" }
      port = after.isEmpty ? nil : after.dropFirst()
      guard isNumeric(String(host), AF_INET6) else { return "has no IPv6 address in its brackets" }
    } else {
      let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      (host, port) = (parts[0], parts.count == 2 ? parts[1] : nil)
      if let defect = defect(ofHost: host) { return defect }
    }
    if let port {
      // No sign, no space: five digits at most.
      guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(port), (1...65535).contains(number)
      else { return "expected a port from 1 to 65535" }
    }
    let isAddress = isNumeric(String(host), AF_INET) || authority.first == "["
    guard !isAddress || allows(String(host)) else { return "leads to an address that webhooks must not be sent to" }
    return nil
  }

  /// Judges a name or an IPv4 address.
  private func defect(ofHost host: Substring) -> String? {
    var labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count > 1, labels.last == "" { labels.removeLast() }
    guard host.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.utf8.count) }) else {
      return "expected the name of a host"
    }
    let isName = labels.allSatisfy { label in
      label.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: "_")
      }
    }
    guard isName else { return "expected the name of a host" }
    // 127.1, 0x7f000001 and 2130706433 are addresses to some: the last label of a name is never a number.
    let last = labels[labels.count - 1].lowercased()
    let looksNumeric = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
    if looksNumeric, !isNumeric(String(host), AF_INET) {
      return "expected an IPv4 address as four numbers, or the name of a host"
    }
    return nil
  }

  private func isNumeric(_ text: String, _ family: Int32) -> Bool {
    var address = in6_addr()  // has room for both
    return inet_pton(family, text, &address) == 1
  }
}
