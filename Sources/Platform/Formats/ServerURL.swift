/// A URL that names servers, split without Foundation's `URL`, which is lenient about ports and users.
///
/// The user ends at the first colon, and the password at the last `@` before the slash. So a password may have any
/// character but a slash as it is, as libpq reads it; a slash or a percent sign in it is written as `%2F` or `%25`.
public struct ServerURL: Sendable {
  /// The text before `://`.
  public let scheme: String
  /// The user, decoded.
  public private(set) var user: String?
  /// The password, decoded; never printed.
  public private(set) var password: String?
  private var servers: [Server] = []
  /// The text after the host, decoded, without the slash.
  public private(set) var path = ""

  /// A server, at least one of which a URL names; `nil` for a port that the URL leaves to its scheme.
  private struct Server {
    let host: String
    let port: Int?
  }

  /// The first server's name or address.
  public var host: String { servers[0].host }
  /// The first server's port.
  public var port: Int? { servers[0].port }

  /// Splits a URL; `nil` when it has not this form.
  ///
  /// - Parameter namesSeveral: whether commas separate several servers.
  public init?(_ text: String, namesSeveral: Bool = false) {
    guard let range = text.firstRange(of: "://") else { return nil }
    scheme = String(text[..<range.lowerBound])
    var rest = text[range.upperBound...]
    if let slash = rest.firstIndex(of: "/") {
      // Otherwise a query would silently become part of a name.
      guard !rest[slash...].contains(where: { $0 == "?" || $0 == "#" }) else { return nil }
      guard let path = PercentCoding.decoded(rest[rest.index(after: slash)...]) else { return nil }
      self.path = path
      rest = rest[..<slash]
    }
    if let at = rest.lastIndex(of: "@") {
      let words = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let user = PercentCoding.decoded(words[0]) else { return nil }
      self.user = user
      if words.count == 2 {
        guard let password = PercentCoding.decoded(words[1]) else { return nil }
        self.password = password
      }
      rest = rest[rest.index(after: at)...]
    }
    let texts = namesSeveral ? rest.split(separator: ",", omittingEmptySubsequences: false) : [rest]
    for text in texts {
      guard let server = Self.server(text) else { return nil }
      servers.append(server)
    }
  }

  private static func server(_ text: Substring) -> Server? {
    var rest = text
    var port: Int?
    if let colon = rest.lastIndex(of: ":"), rest.last != "]" {
      let digits = rest[rest.index(after: colon)...]
      guard digits.isASCIIDigits(1...5), let number = Int(digits), (1...65535).contains(number) else { return nil }
      port = number
      rest = rest[..<colon]
    }
    if rest.first == "[", rest.last == "]" {
      rest = rest.dropFirst().dropLast()
    } else if rest.contains(where: { ":[]?#".contains($0) }) {
      // An IPv6 address without its brackets: nobody can tell which colon belongs to the port. Or a query without a
      // path.
      return nil
    }
    return rest.isEmpty ? nil : Server(host: String(rest), port: port)
  }

  /// The addresses of the servers.
  ///
  /// - Parameter port: the port of a server whose port the URL does not name.
  public func addresses(port: Int) -> [ServerAddress] {
    servers.map { ServerAddress(host: $0.host, port: $0.port ?? port) }
  }
}
