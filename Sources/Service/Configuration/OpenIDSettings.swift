import Formats
import Transport

/// The provider of OpenID Connect that people of the console sign in with.
public struct OpenIDSettings: Sendable {
  /// Names the provider, and says where its description is.
  public var issuer: String
  /// Names this console at the provider.
  public var clientId: String
  /// The file with the secret; `nil` for a client that the provider knows as public. Only consoles have it.
  public var clientSecretFile: String?
  public var scopes: [String]
  /// The claim that names the person.
  public var personClaim: String
  /// The file that says which claim gives which role.
  public var rolesFile: String
  /// A PEM file of certificate authorities instead of the system's.
  public var caFile: String?
  /// Where the provider sends browsers back to.
  public var returnURL: String

  public static let issuerKey = "console.openId.issuer"
  static let clientSecretKey = "console.openId.clientSecretFile"
  static let caFileKey = "console.openId.caFile"
  public static let rolesFileKey = "console.openId.rolesFile"
  /// The path of ``returnURL`` behind the console's public URL.
  public static let returnPath = ["sign-in", "openid", "return"]

  /// Reads the settings.
  ///
  /// - Parameter publicURL: how browsers reach the console; `nil` if nothing says so.
  /// - Returns: `nil` if no provider is named.
  init?(_ reader: SettingsReader, publicURL: String?) {
    let issuer = reader.optionalString(
      Self.issuerKey,
      "Issuer of an OpenID Connect provider, with whose accounts people may sign in. `https://`, or `http://` on the "
        + "console's own machine.")
    let clientKey = "console.openId.clientId"
    let clientId = reader.optionalString(clientKey, "The console's client id at the provider.")
    clientSecretFile = reader.optionalString(
      Self.clientSecretKey,
      "File with the console's client secret. Without it, the console is a public client, with PKCE only.",
      isSecret: true
    ).map(reader.resolve)
    let scopesKey = "console.openId.scopes"
    scopes = reader.strings(scopesKey, ["openid", "email"], "The scopes that the console asks for.")
    personClaim = reader.string(
      "console.openId.personClaim", "email",
      "The claim that names the person in the audit log. With `email`, `email_verified` must be true.")
    let rolesFile = reader.optionalPath(
      Self.rolesFileKey, "File that says which claims give which role, one line each: `ROLE PUBLISHERS CLAIM VALUE`.")
    caFile = reader.optionalPath(
      Self.caFileKey, "PEM file of certificate authorities for the provider, instead of the system's.")
    self.issuer = issuer ?? ""
    self.clientId = clientId ?? ""
    self.rolesFile = rolesFile ?? ""
    returnURL = (publicURL ?? "") + "/" + Self.returnPath.joined(separator: "/")
    guard let issuer else {
      if clientId != nil || rolesFile != nil {
        reader.note(Self.issuerKey, "is missing, expected the provider's https:// URL")
      }
      return nil
    }
    if !Self.isUsable(issuer) || issuer.contains("?") {
      reader.note(
        Self.issuerKey,
        "is \"\(issuer)\", expected an https:// URL without a query; http:// is for 127.0.0.1, [::1] and localhost only"
      )
    }
    if clientId == nil { reader.note(clientKey, "is missing, expected the client id that the provider shows") }
    if rolesFile == nil {
      reader.note(Self.rolesFileKey, "is missing, expected a file of lines ROLE PUBLISHERS CLAIM VALUE")
    }
    if publicURL == nil {
      reader.note(
        "console.publicUrl",
        "is missing, expected the URL to which the provider of \(Self.issuerKey) sends browsers back")
    }
    let isScope = { (scope: String) in
      scope.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
    if !scopes.contains("openid") || !scopes.allSatisfy(isScope) {
      reader.note(scopesKey, "is \"\(scopes.joined(separator: ","))\", expected openid, and others without spaces")
    }
  }

  /// Reads the client secret as its file has it now, without the line end. It blocks.
  ///
  /// - Returns: `nil` if the file cannot be read, is not a text, or is empty.
  public static func readClientSecret(_ file: String) -> String? { FileBytes.read(file).flatMap(clientSecret) }

  static func clientSecret(_ bytes: [UInt8]) -> String? {
    guard var text = String(validating: bytes, as: UTF8.self) else { return nil }
    while text.last?.isNewline == true { text.removeLast() }
    return text.isEmpty ? nil : text
  }

  /// Whether the console may send to a URL of the provider: it is encrypted, or the provider runs on this machine.
  public static func isUsable(_ url: String) -> Bool {
    let everywhere = AddressPolicy(allowing: ["0.0.0.0/0", "::/0"].compactMap { AddressBlock($0) })
    guard WebhookAddress(allowsHTTP: true, policy: everywhere).defect(of: url) == nil else { return false }
    if url.hasPrefix("https://") { return true }
    guard url.hasPrefix("http://") else { return false }
    let authority = String(url.dropFirst(7).prefix { $0 != "/" && $0 != "?" })
    return ["127.0.0.1", "localhost", "[::1]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
  }

  /// The provider's host, and its port if the URL has one.
  public var host: String { String(issuer.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" }) }
}
