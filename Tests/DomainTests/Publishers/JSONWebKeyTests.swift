import Crypto
import Domain
import JSON
import TestSupport
import Testing

/// Keys and sets of keys as JSON (RFC 7517).
struct JSONWebKeyTests {
  private func key(_ text: String) throws -> CustomerTokenKey {
    guard case .object(let members) = try JSONText(Array(text.utf8)).decoded(as: JSONValue.self) else {
      throw UnusableText()
    }
    return try CustomerTokenKey(jwk: members)
  }

  private struct UnusableText: Error {}

  private func reason(_ text: String) -> String? {
    do {
      _ = try key(text)
      return nil
    } catch {
      return "\(error)"
    }
  }

  // MARK: The vectors of the RFCs

  /// RFC 7515, appendix A.3.
  private static let ec = """
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",\
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    """
  private static let ecSigned =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  private static let ecSignature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

  /// RFC 8037, appendix A.2 and A.4.
  private static let okp = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
  private static let okpSigned = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
  private static let okpSignature =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

  private func check(_ jwk: String, _ signed: String, _ signature: String, _ algorithm: SignatureAlgorithm) throws {
    let key = try key(jwk)
    #expect(key.key.algorithm == algorithm)
    let bytes = try #require(Base64URL.decode(signature))
    #expect(key.key.isValidSignature(bytes, for: Array(signed.utf8)))
    #expect(!key.key.isValidSignature(bytes, for: Array((signed + "x").utf8)))
  }

  @Test func `keys of all kinds check what was signed with them`() throws {
    try check(Self.ec + "}", Self.ecSigned, Self.ecSignature, "ES256")
    try check(Self.okp + "}", Self.okpSigned, Self.okpSignature, "EdDSA")
    let parts = TestKeys.rsaToken.split(separator: ".").map(String.init)
    try check(TestKeys.rsa + "}", parts[0] + "." + parts[1], parts[2], "RS256")
  }

  @Test func `a key has its id, and says what it is for`() throws {
    #expect(try key(Self.ec + "}").id == nil)
    #expect(try key(Self.ec + #","kid":"a b","use":"sig","alg":"ES256","key_ops":["verify"],"x5t":"x"}"#).id == "a b")
    for alg in ["EdDSA", "Ed25519"] { #expect(try key(Self.okp + #","alg":"\#(alg)"}"#).id == nil) }
  }

  @Test(arguments: [
    (#","use":"enc"}"#, "use is not sig"), (#","use":7}"#, "use is not a text"),
    (#","key_ops":["sign"]}"#, "key_ops has no verify"), (#","key_ops":"verify"}"#, "key_ops has no verify"),
    (#","alg":"ES384"}"#, "alg is not ES256"), (#","alg":"HS256"}"#, "alg is not ES256"),
    (#","alg":"none"}"#, "alg is not ES256"), (#","d":"AQAB"}"#, "it has a secret part, expected a public key"),
    (#","k":"AQAB"}"#, "it has a secret part, expected a public key"), (#","kid":7}"#, "kid is not a text"),
  ])
  func `what a key must not say`(more: String, expected: String) {
    #expect(reason(Self.ec + more) == expected)
  }

  @Test(arguments: [
    ("{}", "kty is not RSA, EC or OKP"),
    (#"{"kty":"oct","k":"c2VjcmV0"}"#, "it has a secret part, expected a public key"),
    (#"{"kty":"oct"}"#, "kty is not RSA, EC or OKP"), (#"{"kty":"rsa"}"#, "kty is not RSA, EC or OKP"),
    (#"{"kty":"EC","crv":"P-384"}"#, "crv is not P-256"), (#"{"kty":"EC"}"#, "crv is not P-256"),
    (#"{"kty":"EC","crv":"P-256","x":"AA"}"#, "y is not a number in base64url"),
    (#"{"kty":"EC","crv":"P-256","x":"AA=","y":"AA"}"#, "x is not a number in base64url"),
    (#"{"kty":"OKP","crv":"X25519","x":"AA"}"#, "crv is not Ed25519"),
    (#"{"kty":"RSA","n":"AQAB"}"#, "e is not a number in base64url"),
  ])
  func `texts that are no keys`(text: String, expected: String) {
    #expect(reason(text) == expected)
  }

  @Test func `numbers that make no key`() {
    let zeros = Base64URL.encode(Array(repeating: 0, count: 32))
    // Not on the curve, and of another length.
    #expect(reason(#"{"kty":"EC","crv":"P-256","x":"\#(zeros)","y":"\#(zeros)"}"#)?.contains("P-256") == true)
    #expect(reason(#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#)?.contains("32 bytes") == true)
    #expect(reason(#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#)?.contains("Ed25519") == true)
    func rsa(_ bytes: Int, _ exponent: [UInt8] = [1, 0, 1]) -> String? {
      let n = Base64URL.encode(Array(repeating: 0xff, count: bytes))
      return reason(#"{"kty":"RSA","n":"\#(n)","e":"\#(Base64URL.encode(exponent))"}"#)
    }
    #expect(rsa(256) == nil && rsa(1024) == nil)
    #expect(rsa(128)?.contains("fewer than 2048") == true)
    #expect(rsa(1025)?.contains("more than 8192") == true)
    for exponent: [UInt8] in [[1], [0, 1], [2], [], [0], [1, 0, 0], Array(repeating: 0xff, count: 9)] {
      #expect(rsa(256, exponent)?.contains("exponent") == true, "\(exponent)")
    }
    #expect(rsa(256, [3]) == nil && rsa(256, [0, 0, 1, 0, 1]) == nil)
  }

  // MARK: Sets

  private func set(_ text: String) -> Result<JSONWebKeySet, JSONWebKeySet.Unusable> {
    Result { () throws(JSONWebKeySet.Unusable) in try JSONWebKeySet(Array(text.utf8)) }
  }

  private func unusable(_ text: String) -> JSONWebKeySet.Unusable? {
    if case .failure(let error) = set(text) { error } else { nil }
  }

  @Test func `a reader skips keys that it cannot use`() throws {
    let found = try set(
      #"{"more":1,"keys":[{"kty":"oct","k":"AA"},\#(Self.ec),"kid":"a"},7,\#(Self.okp),"kid":"a"},\#(Self.ec),"kid":"a"},"#
        + #"\#(Self.ec)},\#(Self.ec)}]}"#
    ).get()
    #expect(found.keys.map(\.id) == ["a", "a", nil, nil])
    #expect(found.keys.map(\.key.algorithm) == ["ES256", "EdDSA", "ES256", "ES256"])
    #expect(found.skipped.map(\.place) == [0, 2, 4])
    #expect(found.skipped.last?.reason.description == "kid appears twice")
  }

  @Test(arguments: ["", "x", "[]", "{}", #"{"keys":{}}"#, #"{"Keys":[]}"#, #"{"keys":[],"keys":[]}"#, "<html>"])
  func `texts that are no sets`(text: String) {
    #expect(unusable(text) == .notASet)
  }

  @Test func `sets without a use, and sets that are too large`() {
    #expect(unusable(#"{"keys":[]}"#) == .noUsableKey(firstReason: nil))
    #expect(unusable(#"{"keys":[{}]}"#) == .noUsableKey(firstReason: "kty is not RSA, EC or OKP"))
    func many(_ count: Int) -> String { TestKeys.set((0..<count).map { #"\#(Self.ec),"kid":"\#($0)"}"# }) }
    #expect(unusable(many(101)) == .tooManyKeys(101))
    #expect((try? set(many(100)).get().keys.count) == 100)
    #expect(unusable(many(1) + String(repeating: " ", count: JSONWebKeySet.mostBytes)) == .tooLong)
  }
}
