import Configuration
import Domain
import HTTPServer
import RoleSupport
import Testing

@testable import Console

/// Whom a request is from, if a proxy signs people in.
struct ProxyIdentityTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func settings(groups: String? = "X-Forwarded-Groups") throws -> ProxySignInSettings {
    let more = groups.map { #", "groupsHeader": "\#($0)""# } ?? ""
    let settings = try folder.settings(
      """
      {"console": {"publicUrl": "https://c.example", "proxy": {
        "addresses": ["10.1.0.0/16", "fd00::5"], "rolesFile": "roles"\(more)}}}
      """)
    return try #require(settings.console.proxy)
  }

  private typealias Fields = [(name: String, value: String)]

  private static func request(_ fields: Fields, _ origin: RequestOrigin) -> HTTPServerRequest {
    HTTPServerRequest(method: "GET", path: [], headers: fields, origin: origin)
  }

  private static let user = "X-Forwarded-Email"
  private static let ada: Fields = [(name: user, value: "ada@example.com")]
  private static let listed = RequestOrigin(peer: "10.1.2.3")

  private func refusal(
    _ fields: Fields, _ origin: RequestOrigin = Self.listed, groups: String? = "X-Forwarded-Groups"
  ) throws -> ProxyIdentity.Refusal? {
    let settings = try settings(groups: groups)
    do throws(ProxyIdentity.Refusal) {
      _ = try ProxyIdentity(Self.request(fields, origin), settings)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a listed proxy says who somebody is`() throws {
    let groups: Fields = [(name: "x-forwarded-groups", value: "staff, Customer Support ,,a:b")]
    for peer in ["10.1.2.3", "::ffff:10.1.2.3", "fd00::5"] {
      // The name of a field has no case.
      let fields = [(name: "X-FORWARDED-EMAIL", value: "ada@example.com")] + groups
      let identity = try ProxyIdentity(Self.request(fields, RequestOrigin(peer: peer)), settings())
      #expect(identity.name == "ada@example.com" && identity.groups == ["staff", "Customer Support", "a:b"])
    }
    // Whoever names the client's address is another matter.
    let proxied = RequestOrigin(proxy: "10.1.2.3", client: "203.0.113.7")
    #expect(try ProxyIdentity(Self.request(Self.ada, proxied), settings()).groups == [])
    // Without the setting, the field says nothing.
    #expect(try ProxyIdentity(Self.request(Self.ada + groups, proxied), settings(groups: nil)).groups == [])
    let empty: Fields = [(name: "X-Forwarded-Groups", value: " , ")]
    #expect(try ProxyIdentity(Self.request(Self.ada + empty, proxied), settings()).groups == [])
  }

  @Test func `nobody else says it`() throws {
    let others = [
      RequestOrigin(peer: "10.2.0.1"), RequestOrigin(peer: "fd00::6"), RequestOrigin(peer: "127.0.0.1"),
      RequestOrigin(), RequestOrigin(peer: "x"), RequestOrigin(peer: "::ffff:10.2.0.1"),
      // A proxy that is listed for its clients' addresses only, and names one of the proxies that sign people in.
      RequestOrigin(proxy: "10.2.0.1", client: "10.1.2.3"),
    ]
    for origin in others {
      #expect(try refusal(Self.ada, origin) == .unlisted, "\(origin)")
      #expect(try refusal([], origin) == .unlisted, "\(origin)")
    }
  }

  @Test func `a field that leaves a doubt is ignored`() throws {
    #expect(try refusal([]) == .noName)
    // Neither a similar name nor another way to write it is the field.
    for name in ["X_Forwarded_Email", "X-Forwarded-Email ", "X-Forwarded-User", "X-Forwarded-Emai\u{200b}l"] {
      #expect(try refusal([(name: name, value: "ada")]) == .noName, "\(name)")
    }
    #expect(try refusal(Self.ada + Self.ada) == .twice(field: Self.user))
    let other: Fields = [(name: "x-forwarded-email", value: "op@example.com")]
    #expect(try refusal(other + Self.ada) == .twice(field: Self.user))
    let long = String(repeating: "a", count: 101)
    for value in ["", " ", "a b", "ada\u{0}", "ada\n", "ada\u{7f}", "ä@example.com", "#ada", long, long + long] {
      #expect(try refusal([(name: Self.user, value: value)]) == .unusable(field: Self.user), "\(value)")
    }
    #expect(try refusal([(name: Self.user, value: String(long.dropLast()))]) == nil)
  }

  /// A letter beyond ASCII that becomes one of ASCII in small letters.
  @Test func `another letter makes another field`() throws {
    let settings = try folder.settings(
      """
      {"console": {"publicUrl": "https://c.example", "proxy": {
        "addresses": ["10.1.0.0/16"], "rolesFile": "roles", "userHeader": "X-Kim"}}}
      """)
    let request = Self.request([(name: "X-\u{212a}im", value: "op")], Self.listed)
    let proxy = try #require(settings.console.proxy)
    #expect(throws: ProxyIdentity.Refusal.noName) { try ProxyIdentity(request, proxy) }
    let both = Self.request([(name: "X-\u{212a}im", value: "op"), (name: "x-kim", value: "ada")], Self.listed)
    #expect(try ProxyIdentity(both, proxy).name == "ada")
  }

  @Test func `groups that leave a doubt refuse the request`() throws {
    let field = "X-Forwarded-Groups"
    let one: Fields = [(name: field, value: "staff")]
    #expect(try refusal(Self.ada + one + one) == .twice(field: field))
    for value in ["a\u{0}", "a\tb", "a\nb", "a\u{7f}", String(repeating: "a", count: 8193)] {
      #expect(try refusal(Self.ada + [(name: field, value: value)]) == .unusable(field: field))
      #expect(try refusal(Self.ada + [(name: field, value: value)], groups: nil) == nil)
    }
    #expect(try refusal(Self.ada + [(name: field, value: String(repeating: "a", count: 8192))]) == nil)
    // Without a person, groups say nothing.
    #expect(try refusal(one) == .noName)
  }

  @Test func `the first line of the file that fits gives the role`() throws {
    let roles = OpenIDRoles(
      """
      operator * user op@example.com
      support 1001,1002 groups Customer Support
      viewer * groups staff
      operator * email ada@example.com
      """)
    func person(_ name: String, _ groups: [String]) throws(ProxyIdentity.Refusal) -> ConsolePerson {
      try ProxyIdentity(name: name, groups: groups).person(roles)
    }
    let support = try person("ada@example.com", ["staff", "Customer Support"])
    #expect(support.name == "ada@example.com" && support.role == .support && support.publishers == .only([1001, 1002]))
    #expect(support.password == nil)
    #expect(try person("ada@example.com", ["staff"]).role == .viewer)
    #expect(try person("op@example.com", []).role == .operator)
    // The claims are `user` and `groups`, and texts are equal byte for byte.
    for groups in [[], ["customer support"], ["op@example.com"], ["Staff"]] {
      #expect(throws: ProxyIdentity.Refusal.noRole("ada@example.com")) { try person("ada@example.com", groups) }
    }
    #expect(throws: ProxyIdentity.Refusal.noRole("OP@example.com")) { try person("OP@example.com", []) }
    #expect(throws: ProxyIdentity.Refusal.noRole("a")) {
      try ProxyIdentity(name: "a", groups: []).person(OpenIDRoles(""))
    }
  }

  @Test(arguments: [
    (ProxyIdentity.Refusal.unlisted, 401, "has not come through it", "unlisted"),
    (.noName, 401, "has not said who you are", "noName"),
    (.twice(field: "X-<b>"), 403, "two fields X-&lt;b&gt;", "twice"),
    (.unusable(field: "X-<b>"), 403, "field X-&lt;b&gt;", "unusable"),
    (.noRole("<i>"), 403, "You are &lt;i&gt; at the proxy", "noRole"),
  ])
  func `the page says why`(refusal: ProxyIdentity.Refusal, status: Int, words: String, label: String) {
    let html = ProxyPage(refusal, "/c").html
    #expect(html.contains(words) && html.contains("href=\"/c/\""), "\(html)")
    #expect(refusal.status == status && refusal.label == label && ProxySignIn.labels.contains(label))
  }

  @Test func `nobody signs in or out at the console`() {
    let (signIn, signOut) = (ProxyPage.signIn("/c").html, ProxyPage.signOut("/c").html)
    #expect(signIn.contains("There is no other way in") && !signIn.contains("<form"))
    #expect(signOut.contains("only the proxy can sign you out") && signOut.contains("href=\"/c/\""))
  }
}
