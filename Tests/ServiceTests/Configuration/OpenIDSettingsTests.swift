import Configuration
import RoleSupport
import Testing

/// The settings of a provider of OpenID Connect.
struct OpenIDSettingsTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder()
    try folder.write("a secret\n", to: "secret")
  }

  private func text(_ members: String, publicURL: String = #""publicUrl": "https://c.example/c","#) -> String {
    #"{"console": {\#(publicURL) "openId": {\#(members)}}}"#
  }

  private static let good = #""issuer": "https://id.example/realms/a", "clientId": "console", "rolesFile": "roles""#

  @Test func `a provider needs three settings`() throws {
    let settings = try #require(try folder.settings(text(Self.good)).console.openID)
    #expect(settings.issuer == "https://id.example/realms/a" && settings.host == "id.example")
    #expect(settings.clientId == "console" && settings.clientSecretFile == nil && settings.caFile == nil)
    #expect(settings.scopes == ["openid", "email"] && settings.personClaim == "email")
    #expect(settings.rolesFile == folder.path + "/roles")
    #expect(settings.returnURL == "https://c.example/c/sign-in/openid/return")
    let more = #", "clientSecretFile": "secret", "scopes": ["openid"], "personClaim": "oid""#
    let all = try #require(try folder.settings(text(Self.good + more)).console.openID)
    #expect(all.clientSecretFile == folder.path + "/secret" && all.scopes == ["openid"] && all.personClaim == "oid")
    #expect(try folder.settings().console.openID == nil)
    for issuer in ["http://127.0.0.1:9400", "http://localhost:1/x", "http://[::1]"] {
      let local = Self.good.replacing("https://id.example/realms/a", with: issuer)
      #expect(try folder.settings(text(local)).console.openID?.issuer == issuer)
    }
  }

  @Test(arguments: [
    "http://id.example", "id.example", "https://id.example/?a=b", "https://u:p@id.example", "http://10.0.0.1",
  ])
  func `an issuer is encrypted`(issuer: String) throws {
    let mistakes = try folder.mistakes(text(Self.good.replacing("https://id.example/realms/a", with: issuer)))
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix("countersign.json: console.openId.issuer: is \"\(issuer)\", expected") == true)
  }

  @Test func `each mistake is told`() throws {
    let keys = ["console.openId.clientId", "console.openId.rolesFile", "console.publicUrl"]
    let missing = try folder.mistakes(text(#""issuer": "https://id.example""#, publicURL: ""))
    #expect(missing.count == 3)
    for (mistake, key) in zip(missing, keys) {
      #expect(mistake.hasPrefix("countersign.json: \(key): is missing"), "\(mistake)")
    }
    #expect(
      try folder.mistakes(text(#""clientId": "console""#))
        == ["countersign.json: console.openId.issuer: is missing, expected the provider's https:// URL"])
    for scopes in [#"["email"]"#, #"["openid", "a b"]"#, #"["openid", "\""]"#] {
      let mistakes = try folder.mistakes(text(Self.good + #", "scopes": \#(scopes)"#))
      #expect(mistakes.count == 1 && mistakes[0].contains("console.openId.scopes: is"), "\(mistakes)")
    }
  }

  /// Pods of other roles do not have the console's files.
  @Test func `only a console reads the files`() throws {
    let ledger = #""ledger": {"url": "postgresql://countersign@127.0.0.1:1/countersign"}, "#
    func mistakes(_ members: String, _ users: Set<SettingsUser>) throws -> [String] {
      let text = text(Self.good + members)
      return try folder.mistakes("{" + ledger + text.dropFirst(), for: users)
    }
    let missing = #", "clientSecretFile": "none", "caFile": "none.pem""#
    #expect(try mistakes(missing, [.console]).count == 2)
    #expect(try mistakes(missing, [.gateway, .worker, .notifier]).isEmpty)
    #expect(try mistakes(#", "clientSecretFile": "secret""#, [.console]).isEmpty)
    // A secret in the place of a file is not shown.
    let secret = try mistakes(#", "clientSecretFile": "GOCSPX-secret""#, [.console])
    #expect(secret.count == 1 && secret[0].contains("console.openId.clientSecretFile") && !secret[0].contains("GOCSPX"))
    try folder.write("\n", to: "secret")
    let empty = try mistakes(#", "clientSecretFile": "secret""#, [.console])
    #expect(
      empty == [
        "countersign.json: console.openId.clientSecretFile: the file that it names is empty, or no text in UTF-8"
      ])
    try folder.write("a secret \r\n", to: "secret")
    #expect(OpenIDSettings.readClientSecret(folder.path + "/secret") == "a secret ")
    #expect(OpenIDSettings.readClientSecret(folder.path + "/none") == nil)
  }
}
