import Formats
public import Transport

/// The authenticating proxies in front of the console. They sign people in, and say in header fields who somebody is.
public struct ProxySignInSettings: Sendable {
  /// Whose header fields count: the addresses of the sockets' peers.
  public var addresses: [AddressBlock]
  /// The field that names the person.
  public var userHeader: String
  /// The field with the person's groups, with commas between them; `nil` if no proxy sends one.
  public var groupsHeader: String?
  /// The file that says who has which role.
  public var rolesFile: String

  public static let addressesKey = "console.proxy.addresses"
  public static let rolesFileKey = "console.proxy.rolesFile"
  /// Whether a block is so small that somebody may mean it: 8 bits or more of IPv4, 32 or more of IPv6.
  static func isSmall(_ block: AddressBlock) -> Bool { block.length >= (block.address.bytes.count == 4 ? 8 : 32) }

  /// Reads the settings.
  ///
  /// - Parameters:
  ///   - publicURL: how browsers reach the console; `nil` if nothing says so.
  ///   - others: the settings of other ways to sign in that have a value.
  /// - Returns: `nil` if no address is named.
  init?(_ reader: SettingsReader, publicURL: String?, beside others: [String]) {
    let texts = reader.strings(
      Self.addressesKey, [],
      "Addresses and blocks, such as `10.1.0.0/16`, of the proxies that sign people in. The console believes the "
        + "header fields below from no other sender.")
    addresses = texts.compactMap { text in
      let block = AddressBlock(text).flatMap { Self.isSmall($0) ? $0 : nil }
      if block == nil {
        reader.note(
          Self.addressesKey,
          "has \"\(text)\", expected an address, or a block such as 10.1.0.0/16 with 8 bits or more (IPv6: 32 or "
            + "more)")
      }
      return block
    }
    let (userKey, groupsKey) = ("console.proxy.userHeader", "console.proxy.groupsHeader")
    userHeader = reader.string(
      userKey, "X-Forwarded-Email", "The header field in which the proxy names the person, as the audit log has it.")
    groupsHeader = reader.optionalString(
      groupsKey, "The header field with the person's groups, with commas between them.")
    let rolesFile = reader.optionalPath(
      Self.rolesFileKey,
      "File that says who has which role, one line each: `ROLE PUBLISHERS user NAME`, or "
        + "`ROLE PUBLISHERS groups GROUP`.")
    self.rolesFile = rolesFile ?? ""
    guard !texts.isEmpty else {
      if groupsHeader != nil || rolesFile != nil {
        reader.note(Self.addressesKey, "is missing, expected the addresses of the proxies that sign people in")
      }
      return nil
    }
    for (key, name) in [(userKey, userHeader), (groupsKey, groupsHeader)] {
      guard let name, !Self.isFieldName(name) else { continue }
      reader.note(key, "is \"\(name)\", expected the name of a header field that only the proxy sends")
    }
    if let groupsHeader, groupsHeader.lowercased() == userHeader.lowercased() {
      reader.note(groupsKey, "is \"\(groupsHeader)\", expected another field than that of \(userKey)")
    }
    if rolesFile == nil {
      reader.note(Self.rolesFileKey, "is missing, expected a file of lines ROLE PUBLISHERS CLAIM VALUE")
    }
    if publicURL == nil {
      reader.note("console.publicUrl", "is missing, expected the URL at which the proxy has the console")
    }
    for other in others {
      reader.note(other, "is set beside \(Self.addressesKey), expected one of them: the proxy is the only way in")
    }
  }

  /// Whether a text can name the field (RFC 9110, section 5.6.2). What each browser sends by itself says nothing about
  /// a person.
  static func isFieldName(_ text: String) -> Bool {
    let marks = Array("!#$%&'*+-.^_`|~".utf8)
    return (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || marks.contains($0) }
      && !browsersOwn.contains(text.lowercased())
  }

  private static let browsersOwn: Set<String> = [
    "host", "cookie", "origin", "referer", "user-agent", "accept", "accept-language", "accept-encoding", "connection",
    "authorization", "content-type", "content-length", "forwarded", "via", "x-forwarded-for", "x-forwarded-host",
    "x-forwarded-proto", "x-real-ip",
  ]
}
