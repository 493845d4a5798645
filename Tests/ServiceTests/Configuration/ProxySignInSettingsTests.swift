import Configuration
import RoleSupport
import Testing
import Transport

/// The settings of the proxies that sign people in.
struct ProxySignInSettingsTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func text(_ members: String, beside others: String = #""publicUrl": "https://c.example/c","#) -> String {
    #"{"console": {\#(others) "proxy": {\#(members)}}}"#
  }

  private static let good = #""addresses": ["10.1.0.0/16", "127.0.0.1"], "rolesFile": "roles""#

  @Test func `proxies need addresses and a file`() throws {
    let settings = try #require(try folder.settings(text(Self.good)).console.proxy)
    #expect(settings.addresses == ["10.1.0.0/16", "127.0.0.1"].compactMap { AddressBlock($0) })
    #expect(settings.userHeader == "X-Forwarded-Email" && settings.groupsHeader == nil)
    #expect(settings.rolesFile == folder.path + "/roles")
    let more = #", "userHeader": "X-Auth-Request-Email", "groupsHeader": "X-Auth-Request-Groups""#
    let all = try #require(try folder.settings(text(Self.good + more)).console.proxy)
    #expect(all.userHeader == "X-Auth-Request-Email" && all.groupsHeader == "X-Auth-Request-Groups")
    #expect(try folder.settings().console.proxy == nil)
  }

  private func mistake(_ members: String, beside others: String? = nil) throws -> [String] {
    let file = others.map { text(members, beside: $0) } ?? text(members)
    return try folder.mistakes(file).map { $0.replacing("countersign.json: console.", with: "") }
  }

  @Test(arguments: [
    "0.0.0.0/0", "::/0", "10.0.0.0/7", "10.1.0.0/8", "localhost", "10.1.2.3:80", "2000::/8", "2001::/31",
  ])
  func `an address is one, or few`(address: String) throws {
    let mistakes = try mistake(#""addresses": ["\#(address)"], "rolesFile": "roles""#)
    #expect(mistakes.count == 1 && mistakes[0].hasPrefix("proxy.addresses: has \"\(address)\""), "\(mistakes)")
  }

  @Test(arguments: ["X Email", "X-Ä", "Cookie", "x-forwarded-for", "HOST", "Authorization", "X:Y"])
  func `a field is the proxy's own`(name: String) throws {
    for key in ["userHeader", "groupsHeader"] {
      let mistakes = try mistake(Self.good + #", "\#(key)": "\#(name)""#)
      #expect(mistakes.count == 1 && mistakes[0].hasPrefix("proxy.\(key): is \"\(name)\""), "\(mistakes)")
    }
    #expect(try mistake(Self.good + #", "groupsHeader": "x-forwarded-email""#).count == 1)
  }

  @Test func `each mistake is told`() throws {
    let missing = try mistake(#""addresses": ["10.1.0.1"]"#, beside: "")
    #expect(missing.map { String($0.prefix { $0 != ":" }) } == ["proxy.rolesFile", "publicUrl"], "\(missing)")
    for members in [#""rolesFile": "roles""#, #""groupsHeader": "X-Groups""#] {
      let nowhere = try mistake(members)
      #expect(nowhere.count == 1 && nowhere[0].hasPrefix("proxy.addresses: is missing"), "\(nowhere)")
    }
  }

  /// A request has one person. Two ways to sign in could name two.
  @Test func `the proxy is the only way in`() throws {
    let url = #""publicUrl": "https://c.example","#
    let users = try mistake(Self.good, beside: url + #""usersFile": "users","#)
    #expect(users.count == 1 && users[0].hasPrefix("usersFile: is set beside console.proxy.addresses"), "\(users)")
    let provider = #""openId": {"issuer": "https://id.example", "clientId": "c", "rolesFile": "roles"},"#
    let openID = try mistake(Self.good, beside: url + provider)
    #expect(openID.count == 1 && openID[0].hasPrefix("openId.issuer: is set beside"), "\(openID)")
  }
}
