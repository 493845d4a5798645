import Configuration
import Coordination
import Crypto
import Domain
import Formats
import JSON
import Ledger
import RoleSupport
import Testing

@testable import Console

/// Who of the provider's people is who, and may do what.
struct OpenIDRolesTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func settings(claim: String = "email", issuer: String = "https://id.example") throws -> OpenIDSettings {
    let settings = try folder.settings(
      """
      {"console": {"publicUrl": "https://c.example", "openId": {
        "issuer": "\(issuer)", "clientId": "console", "personClaim": "\(claim)", "rolesFile": "roles"}}}
      """)
    return try #require(settings.console.openID)
  }

  private static func claims(_ text: String) throws -> OpenIDClaims {
    OpenIDClaims(members: try JSONText(Array(text.utf8)).decoded(as: [ExactText: JSONValue].self))
  }

  private static let file = """
    # the first line that fits counts
    operator * email op@example.com

    support 1001,1002 groups Customer Support
    viewer * hd example.com
    """

  private func person(_ claims: String, claim: String = "email", beside users: String = "") throws -> ConsolePerson {
    try OpenIDRoles(Self.file).person(try Self.claims(claims), settings(claim: claim), beside: ConsolePeople(users))
  }

  private func refusal(_ claims: String, claim: String = "email", beside users: String = "") throws -> OpenIDRoles
    .Refusal?
  {
    do {
      _ = try person(claims, claim: claim, beside: users)
      return nil
    } catch let refusal as OpenIDRoles.Refusal {
      return refusal
    }
  }

  private static let ada = #""email":"ada@example.com","email_verified":true"#

  @Test func `a file has roles, comments and empty lines`() throws {
    let roles = OpenIDRoles(Self.file)
    #expect(roles.count == 3 && roles.mistakes == [])
    let broken = OpenIDRoles("king * groups a\nviewer * groups b")
    #expect(broken.count == 1 && broken.mistakes.count == 1)
    #expect(broken.mistakes.allSatisfy { $0.hasPrefix("line 1 cannot be read") && !$0.contains("king") })
    for empty in ["", "# nobody\n"] {
      #expect(OpenIDRoles(empty).count == 0 && OpenIDRoles(empty).mistakes.count == 1)
    }
  }

  @Test(arguments: [
    "", "support", "support *", "support * groups", "support * groups ", "support  groups a", "king * groups a",
    "support 0 groups a", "support * groups  a", "support * groups a ",
  ])
  func `other lines are refused`(line: String) { #expect(OpenIDRole(line: line) == nil) }

  @Test func `the first line that fits gives the role`() throws {
    let support = try person(#"{\#(Self.ada),"groups":["staff","Customer Support"],"hd":"example.com"}"#)
    #expect(support.name == "ada@example.com" && support.role == .support && support.publishers == .only([1001, 1002]))
    #expect(support.password == nil)
    let viewer = try person(#"{\#(Self.ada),"groups":["staff"],"hd":"example.com"}"#)
    #expect(viewer.role == .viewer && viewer.publishers == .all)
    #expect(try person(#"{"email":"op@example.com","email_verified":true}"#).role == .operator)
    // Some providers write the flag as a text, and a single group without a list.
    let text = try person(#"{"email":"a@b","email_verified":"true","groups":"Customer Support"}"#)
    #expect(text.role == .support)
  }

  @Test func `who matches nothing is refused`() throws {
    for groups in ["[]", #"["customer support"]"#, #"["Customer Support "]"#, #"["Customer Support",1]"#, "{}", "null"]
    {
      #expect(try refusal(#"{\#(Self.ada),"groups":\#(groups)}"#) == .noRole("ada@example.com"), "\(groups)")
    }
    #expect(try refusal(#"{\#(Self.ada),"hd":"example.org"}"#) == .noRole("ada@example.com"))
    #expect(try refusal(#"{"groups":"Customer Support"}"#) == .noName(claim: "email"))
    #expect(try refusal(#"{"email":["a@b"],"email_verified":true}"#) == .noName(claim: "email"))
    #expect(try refusal(#"{\#(Self.ada),"hd":"example.com"}"#, claim: "sub") == .noName(claim: "sub"))
  }

  /// Anybody may write any address into an account that does not check it.
  @Test func `only a verified address counts`() throws {
    for flag in [#","email_verified":false"#, "", #","email_verified":1"#, #","email_verified":"yes""#] {
      let claims = #"{"email":"op@example.com","sub":"s"\#(flag)}"#
      #expect(try refusal(claims) == .unverifiedEmail, "\(flag)")
      // The address gives no role either, where another claim names the person.
      #expect(try refusal(claims, claim: "sub") == .noRole("s"), "\(flag)")
    }
  }

  @Test(arguments: ["", "a b", "ä@example.com", "#ada", "a\\nb", String(repeating: "a", count: 101)])
  func `a name is one of the console's`(name: String) throws {
    #expect(try refusal(#"{"sub":"\#(name)","hd":"example.com"}"#, claim: "sub") == .unusableName(claim: "sub"))
  }

  /// The audit log has names. Nobody gets that of a colleague by writing it into an account.
  @Test func `a name with a password belongs to the password`() throws {
    let users = "op support * \(try Scrypt(of: "correct horse", logN: 10).text)"
    let claims = #"{"sub":"op","hd":"example.com"}"#
    #expect(try refusal(claims, claim: "sub", beside: users) == .nameWithPassword("op"))
    #expect(try refusal(claims, claim: "sub") == nil)
    // A line that lets nobody in keeps its name all the same.
    for taken in ["op support * broken", users + "\n" + users, "OP"] {
      #expect(try refusal(claims, claim: "sub", beside: taken) == .nameWithPassword("op"), "\(taken)")
    }
    let unreadable = ConsolePeople(nobodyBecause: "cannot be read")
    #expect(throws: OpenIDRoles.Refusal.usersUnreadable) {
      try OpenIDRoles(Self.file).person(try Self.claims(claims), settings(claim: "sub"), beside: unreadable)
    }
  }

  @Test func `a session is bound to its line, the provider and the claim`() throws {
    let (roles, settings) = (OpenIDRoles(Self.file), try settings())
    let person = try person(#"{\#(Self.ada),"hd":"example.com"}"#)
    let session = ConsoleSession(name: person.name, lineSHA256: person.lineSHA256, startedAt: 0, usedAt: 0)
    #expect(SignIn.person(session, ConsolePeople(), roles, settings) == person)
    #expect(SignIn.person(session, ConsolePeople()) == nil)
    let changed = OpenIDRoles(Self.file.replacing("viewer *", with: "viewer 1001"))
    #expect(SignIn.person(session, ConsolePeople(), changed, settings) == nil)
    let gone = OpenIDRoles(Self.file.replacing("viewer", with: "# viewer"))
    #expect(SignIn.person(session, ConsolePeople(), gone, settings) == nil)
    for other in [try self.settings(claim: "sub"), try self.settings(issuer: "https://other.example")] {
      #expect(SignIn.person(session, ConsolePeople(), roles, other) == nil)
    }
    let users = ConsolePeople("\(person.name) operator * \(try Scrypt(of: "correct horse", logN: 10).text)")
    #expect(SignIn.person(session, users, roles, settings) == nil)
  }

  @Test func `an entry tells a verified name, and how somebody came`() throws {
    let signedIn = SignIn.entry("console.signedIn", try person(#"{\#(Self.ada),"hd":"example.com"}"#))
    #expect(signedIn.operatorName == "ada@example.com" && signedIn.publisherId == 0)
    #expect(String(decoding: signedIn.detail, as: UTF8.self) == #"{"role":"viewer","with":"openId"}"#)
    let refused = OpenIDSignIn.entry(.noRole("eve"))
    #expect(refused.operatorName == nil && refused.action == "console.refused")
    #expect(OpenIDSignIn.entry(.nameWithPassword("ada")).operatorName == "ada")
    #expect(String(decoding: refused.detail, as: UTF8.self) == #"{"with":"openId","reason":"noRole"}"#)
    #expect(OpenIDSignIn.entry(.unverifiedEmail).operatorName == nil)
  }

  @Test(arguments: [
    (OpenIDRoles.Refusal.noName(claim: "email"), "has no email"), (.unverifiedEmail, "has not checked"),
    (.unusableName(claim: "<sub>"), "&lt;sub&gt;"), (.nameWithPassword("ada"), "ada signs in with a password"),
    (.usersUnreadable, "cannot read its file of users"),
    (.noRole("<b>eve</b>"), "You are &lt;b&gt;eve&lt;/b&gt; at the provider"),
  ])
  func `the page says why`(refusal: OpenIDRoles.Refusal, words: String) {
    let html = RefusedPage(prefix: "/c", refusal: refusal).html
    #expect(html.contains(words) && html.contains("href=\"/c/sign-in\""), "\(html)")
  }
}
