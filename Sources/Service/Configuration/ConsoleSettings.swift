import Formats
public import Transport

/// The console: pages for the publisher's support and for operators. It is off until `console.usersFile`,
/// `console.openId.issuer` or `console.proxy.addresses` says who may sign in.
public struct ConsoleSettings: Sendable {
  public var listen: ListenAddress
  /// The file of the people who may sign in with a password; `nil` if nobody may.
  public var usersFile: String?
  /// The provider whose accounts may sign in; `nil` if there is none.
  public var openID: OpenIDSettings?
  /// The proxies that sign people in; `nil` if the console does it. Then nobody signs in at the console.
  public var proxy: ProxySignInSettings?
  /// How browsers reach the console: scheme, host and perhaps a path; `nil` if they reach the listener itself.
  public var publicURL: String?
  /// A session ends when nobody has used it for so long.
  public var idleTimeout: Duration
  /// A session ends after this time, however much it is used.
  public var sessionTimeout: Duration
  /// PostgreSQL breaks off a statement of the console that takes longer.
  public var statementTimeout: Duration
  /// The proxies whose `X-Forwarded-For` names the person's address.
  public var trustedProxies: [AddressBlock]

  /// Whether the console offers to play lives in the simulator that stands in for Apple.
  public var playsLives: Bool

  public static let usersFileKey = "console.usersFile"
  public static let playsLivesKey = "console.playsLives"
  public static let trustedProxiesKey = "console.trustedProxies"

  init(_ reader: SettingsReader) {
    listen = ListenAddress(reader, "console.listen", "127.0.0.1:8090", "Address and port of the console's pages.")
    usersFile = reader.optionalPath(
      Self.usersFileKey,
      "File of the people who may sign in with a password, one line each, as `countersign console-password` prints it. "
        + "Without it, `console.openId.issuer` and `console.proxy.addresses`, the console does not start.")
    let key = "console.publicUrl"
    publicURL = reader.optionalString(
      key,
      "How browsers reach the console behind a proxy, as `https://support.example.com/countersign`. With `https://`, "
        + "cookies are for TLS only. Gateways put it into customers' cards.", shown: "the listener's own address")
    if let publicURL, Self.parts(of: publicURL) == nil {
      reader.note(key, "is \"\(publicURL)\", expected https://host or https://host/path, without a slash at its end")
    }
    openID = OpenIDSettings(reader, publicURL: publicURL)
    let others = [
      usersFile.map { _ in Self.usersFileKey }, openID.map { _ in OpenIDSettings.issuerKey },
    ]
    proxy = ProxySignInSettings(reader, publicURL: publicURL, beside: others.compactMap(\.self))
    idleTimeout = reader.seconds(
      "console.idleTimeoutSeconds", 1800, 60...86_400, "A session that nobody uses ends after this.")
    sessionTimeout = reader.seconds(
      "console.sessionSeconds", 43_200, 60...604_800, "A session ends after this, however much it is used.")
    statementTimeout = reader.seconds(
      "console.statementTimeoutSeconds", 2, 0.1...60, "PostgreSQL breaks off a look-up that takes longer.")
    playsLives = reader.bool(
      Self.playsLivesKey, false,
      "The console offers *Play a life*: `appStore.productionURL` is a simulator's, and not Apple's.")
    trustedProxies = reader.trustedProxies(Self.trustedProxiesKey, before: "console")
  }

  /// Splits a public URL.
  ///
  /// - Returns: the origin as browsers send it, which is without the scheme's own port, and the path before all pages;
  ///   `nil` for a text that is no such URL.
  public static func parts(of url: String) -> (origin: String, path: String)? {
    guard let scheme = ["https://", "http://"].first(where: url.hasPrefix) else { return nil }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" }
    let path = rest[authority.endIndex...]
    let host = authority.prefix { $0 != ":" }
    var port = authority[host.endIndex...]
    if !port.isEmpty {
      // A browser writes no zeros before a port.
      guard port.dropFirst().isASCIIDigits(1...5), let number = UInt16(port.dropFirst()), number > 0,
        !port.hasPrefix(":0")
      else { return nil }
      if number == (scheme == "https://" ? 443 : 80) { port = "" }
    }
    let isHost = { (byte: UInt8) in byte.isASCIIDigit || (0x61...0x7a).contains(byte) || [0x2d, 0x2e].contains(byte) }
    let isPath = { (byte: UInt8) in isHost(byte) || byte == 0x2f || byte == 0x5f }
    guard !host.isEmpty, host.utf8.allSatisfy(isHost), path.utf8.allSatisfy(isPath), !path.hasSuffix("/"),
      !path.contains("//")
    else { return nil }
    return (scheme + host + port, String(path))
  }
}
