import Formats

/// The parts of an `https` URL that a request needs (RFC 3986, section 3).
struct HTTP2URL {
  /// Host and port as the URL has them.
  let authority: Substring
  /// The path with its query, as the client sends it.
  let path: Substring

  /// Reads a URL; `nil` for everything but plain `https://host[:port]/path[?query]`.
  init?(_ url: String) {
    let text = url.utf8
    let scheme = "https://".utf8
    guard text.starts(with: scheme) else { return nil }
    let start = text.index(text.startIndex, offsetBy: scheme.count)
    let end = text[start...].firstIndex { $0 == UInt8(ascii: "/") } ?? text.endIndex
    let authority = url[start..<end]
    // This excludes a user's name, a query without a path, a fragment, and characters that need encoding.
    let isPlain = text[start...].allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") }
    guard isPlain, !authority.isEmpty,
      !authority.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") })
    else { return nil }
    self.authority = authority
    path = end == text.endIndex ? "/" : url[end...]
  }

  /// The server; `nil` when the port is not a number. An IPv6 address has no brackets there.
  var address: ServerAddress? {
    let isBracketed = authority.hasPrefix("[")
    let hostEnd = isBracketed ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":")
    let host = authority[..<(hostEnd ?? authority.endIndex)].drop { $0 == "[" }
    let rest = authority[(hostEnd ?? authority.endIndex)...].drop { $0 == "]" }
    guard !host.isEmpty, !isBracketed || hostEnd != nil else { return nil }
    guard !rest.isEmpty else { return ServerAddress(host: String(host), port: 443) }
    guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { return nil }
    return ServerAddress(host: String(host), port: Int(port))
  }
}
