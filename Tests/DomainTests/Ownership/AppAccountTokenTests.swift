import Domain
import Testing

/// UUIDs that name customers.
struct AppAccountTokenTests {
  @Test func `a UUID has one form`() {
    let token = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    #expect(AppAccountToken.canonical(token)?.text == token)
    #expect(AppAccountToken.canonical(token.uppercased())?.text == token)
    for wrong in [
      "", "6ba7b8109dad11d180b400c04fd430c8", token + " ", "g" + token.dropFirst(), "{" + token.dropLast(2) + "}",
      "6ba7b8109-dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4000c04fd430c8",
      "6ba7b810-9dad-11d1-80b4--0c04fd430c8", "\u{e9}\u{e9}a7b810-9dad-11d1-80b4-00c04fd430",
    ] {
      #expect(AppAccountToken.canonical(wrong) == nil, "\(wrong)")
    }
  }

  /// RFC 9562, appendix A.4, and the example of Python's `uuid.uuid5`.
  @Test(arguments: [
    ("www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"), ("python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"),
  ])
  func derived(name: String, token: String) throws {
    let dns = try #require(AppAccountToken.bytes(of: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
    #expect(AppAccountToken.derived(from: name, in: dns).text == token)
    #expect(OwnershipPolicy.TokenDerivation.uuidV5(namespace: dns).token(of: CustomerId(name)).text == token)
  }
}
