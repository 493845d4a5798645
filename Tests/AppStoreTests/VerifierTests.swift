import Crypto
import Domain
import FoundationEssentials
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Signatures and chains that the verifier refuses. Each has one fault, and everything else is right.
struct VerifierTests: VerifierSuite {
  @Test func accepted() throws {
    let authority = try TestAuthority()
    let payload = transaction()
    let verdict = try authority.verifier().transaction(authority.sign(payload), expecting: apps)
    #expect(verdict == .accepted(payload))
  }

  // MARK: Signature and chain

  @Test func wrongKey() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    let text = try authority.sign(#"{"bundleId":"com.example"}"#, key: .generate())
    #expect(verifier.transaction(text, expecting: apps).rejection?.reason == .signatureInvalid)
  }

  /// The verifier checks the signature before the chain. If the key of a foreign chain did not sign, it reports a
  /// wrong signature.
  @Test func signatureComesFirst() throws {
    let (authority, other) = (try TestAuthority(), try TestAuthority())
    let text = try authority.sign("{}", x5c: [other.leaf, other.intermediate, authority.root])
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .signatureInvalid)
  }

  @Test func foreignAuthority() throws {
    let (authority, other) = (try TestAuthority(), try TestAuthority())
    let verifier = try authority.verifier()
    #expect(verifier.transaction(try other.sign(transaction()), expecting: apps).rejection?.reason == .chainUntrusted)
    #expect(verifier.signatures.cache.count == 0)
  }

  @Test func thirdCertificateIsIgnored() throws {
    let authority = try TestAuthority()
    let payload = String(decoding: try encoded(transaction()), as: UTF8.self)
    let text = try authority.sign(payload, x5c: [authority.leaf, authority.intermediate, [1, 2, 3]])
    #expect(try authority.verifier().transaction(text, expecting: apps).payload != nil)
  }

  @Test(arguments: [0, 1, 2, 4])
  func chainLength(count: Int) throws {
    let authority = try TestAuthority()
    let all = [authority.leaf, authority.intermediate, authority.root, authority.root]
    let text = try authority.sign("{}", x5c: Array(all.prefix(count)))
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .chainLengthInvalid)
  }

  /// More than four certificates are refused by their number: nobody decodes them, so they may be anything.
  @Test func `a list of texts that are no certificates is refused by its length`() throws {
    let authority = try TestAuthority()
    let parts = try authority.sign(transaction()).split(separator: ".")
    for (count, reason) in [(4, Rejection.Reason.malformed), (5, .chainLengthInvalid), (5000, .chainLengthInvalid)] {
      let texts = Array(repeating: "7", count: count).joined(separator: ",")
      let header = Base64URL.encode(Array("{\"alg\":\"ES256\",\"x5c\":[\(texts)]}".utf8))
      let verdict = try authority.verifier().transaction("\(header).\(parts[1]).\(parts[2])", expecting: apps)
      #expect(verdict.rejection?.reason == reason, "\(count)")
    }
  }

  @Test(arguments: [
    "{\"alg\":\"none\"", "{\"alg\":\"HS256\"", "{\"alg\":\"ES384\"", "{\"alg\":\"es256\"", "{\"typ\":\"JWT\"",
  ])
  func algorithm(start: String) throws {
    let authority = try TestAuthority()
    let parts = try authority.sign(transaction()).split(separator: ".")
    let header = Base64URL.encode(Array((start + ",\"x5c\":[]}").utf8))
    let verdict = try authority.verifier().transaction("\(header).\(parts[1]).\(parts[2])", expecting: apps)
    #expect(verdict.rejection?.reason == .algorithmNotAllowed)
  }

  @Test func criticalExtension() throws {
    let authority = try TestAuthority()
    let text = try authority.sign("{}", header: ["alg": "\"ES256\"", "crit": "[\"b64\"]", "b64": "false"])
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .algorithmNotAllowed)
  }

  @Test func markers() throws {
    var details = TestAuthority.Details.leaf
    details.markerOID = TestAuthority.intermediateMarker
    try expectRejection(.markerOIDMissing, of: TestAuthority(leaf: details))
    details = .intermediate
    details.markerOID = nil
    try expectRejection(.markerOIDMissing, of: TestAuthority(intermediate: details))
  }

  @Test func constraintsAndKeyUsage() throws {
    var details = TestAuthority.Details.intermediate
    details.isCA = false
    try expectRejection(.chainUntrusted, of: TestAuthority(intermediate: details))
    details.isCA = nil
    try expectRejection(.chainUntrusted, of: TestAuthority(intermediate: details))
    details = .intermediate
    details.keyUsage = TestAuthority.digitalSignature
    try expectRejection(.chainUntrusted, of: TestAuthority(intermediate: details))
    details = .leaf
    details.keyUsage = TestAuthority.keyEncipherment
    try expectRejection(.chainUntrusted, of: TestAuthority(leaf: details))
  }

  @Test func absentKeyUsageIsFine() throws {
    var (leaf, intermediate) = (TestAuthority.Details.leaf, TestAuthority.Details.intermediate)
    leaf.keyUsage = nil
    intermediate.keyUsage = nil
    let authority = try TestAuthority(intermediate: intermediate, leaf: leaf)
    #expect(try authority.verifier().transaction(authority.sign(transaction()), expecting: apps).payload != nil)
  }

  /// The root itself issued the leaf. Beside it lies a genuine but unrelated intermediate.
  @Test func intermediateMustBeUsed() throws {
    try expectRejection(.chainUntrusted, of: TestAuthority(leafIsIssuedByRoot: true))
  }

  @Test func leafKeyOnAnotherCurve() throws {
    try expectRejection(.certificateInvalid, of: TestAuthority(leafKeyPEM: TestKeys.p384Public))
  }

  /// The signature covers every character of the text, or the character belongs to the signature.
  @Test func everyChangedCharacterIsNoticed() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    let text = Array(try authority.sign(transaction()).utf8)
    for index in text.indices {
      var changed = text
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let verdict = verifier.transaction(String(decoding: changed, as: UTF8.self), expecting: apps)
      #expect(verdict.payload == nil, "character \(index)")
    }
    #expect(verifier.signatures.cache.count == 0)
  }

  @Test(arguments: ["", ".", "..", "...", "a.b.c", "a.b.c.d", "e30.e30.", "é.é.é", "bnVsbA.bnVsbA.AAAA"])
  func notAJWS(text: String) {
    let verifier = SignedDataVerifier()
    #expect(verifier.transaction(text, expecting: apps).rejection != nil)
    #expect(verifier.notification(text, expecting: .anyApp(in: [.xcode])).rejection != nil)
  }

  @Test func overlongTextIsNotRead() {
    let text = String(repeating: "A", count: JSONWebSignature.maxLength + 1)
    #expect(SignedDataVerifier().transaction(text, expecting: apps).rejection?.reason == .malformed)
  }

  /// One verifier serves many tasks on many threads.
  @Test func concurrentUse() async throws {
    let authorities = try (0..<4).map { _ in try TestAuthority() }
    let roots = try authorities.map { try Certificate(der: $0.root) }
    let verifier = SignedDataVerifier(roots: TrustedRoots(roots), cachedChains: 2)
    let apps = apps
    let texts = try authorities.map { try $0.sign(transaction()) }
    let accepted = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<400 {
        group.addTask { verifier.transaction(texts[index % texts.count], expecting: apps).payload != nil }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(accepted == 400)
    #expect(verifier.signatures.cache.count == 2)
  }

  // MARK: Dates and the cache

  @Test func judgedAtTheDateOfSigning() throws {
    var details = TestAuthority.Details.leaf
    details.notAfter = "20240801000000Z"
    let authority = try TestAuthority(leaf: details)
    let verifier = try authority.verifier()
    let late = transaction { $0.signedDate = 1_722_470_400_000 }
    let early = transaction { $0.signedDate = 1_704_067_199_999 }
    // Once without a cached chain, once with it: the answers must be the same.
    for cached in [0, 1] {
      #expect(verifier.signatures.cache.count == cached)
      for payload in [late, early] {
        let verdict = verifier.transaction(try authority.sign(payload), expecting: apps)
        #expect(verdict.rejection?.reason == .chainUntrusted)
      }
      let last = transaction { $0.signedDate = 1_722_470_399_999 }
      #expect(verifier.transaction(try authority.sign(last), expecting: apps).payload != nil)
    }
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max])
  func absurdDates(date: Int64) throws {
    let authority = try TestAuthority()
    let text = try authority.sign(transaction { $0.signedDate = date })
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .chainUntrusted)
  }

  @Test func missingDate() throws {
    let authority = try TestAuthority()
    let text = try authority.sign(transaction { $0.signedDate = nil })
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .dateMissing)
  }

  @Test func cacheIsBoundedAndKeepsWhatIsUsed() throws {
    let key = try P256PrivateKey.generate().publicKey
    let cache = VerifiedChainCache(capacity: 2)
    let entry = VerifiedChainCache.Entry(leafKey: key, validity: 0..<1)
    cache.insert(entry, for: [1], header: [1, 0])
    cache.insert(entry, for: [2], header: [2, 0])
    #expect(cache.entry(for: [1]) != nil)
    cache.insert(entry, for: [3], header: [3, 0])
    #expect(cache.count == 2)
    #expect(cache.entry(for: [1]) != nil && cache.entry(for: [2]) == nil && cache.entry(for: [3]) != nil)
    #expect(cache.header([1, 0]) == nil && cache.header([2, 0]) != nil && cache.header([3, 0]) != nil)
    // The test has just used header 2, so it stays when another one comes.
    #expect(cache.header([2, 0])?.midstate.hash(followedBy: [7]) == SHA256.hash([2, 0, 7]))
    cache.insert(entry, for: [4], header: [4, 0])
    #expect(cache.header([2, 0]) != nil && cache.header([3, 0]) == nil && cache.header([2]) == nil)
  }

  @Test func cachedChainStillNeedsASignature() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    #expect(verifier.transaction(try authority.sign(transaction()), expecting: apps).payload != nil)
    let forged = try authority.sign(#"{"bundleId":"com.example"}"#, key: .generate())
    #expect(verifier.transaction(forged, expecting: apps).rejection?.reason == .signatureInvalid)
  }

  private func expectRejection(
    _ reason: Rejection.Reason, of authority: TestAuthority, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let verifier = try authority.verifier()
    let rejection = verifier.transaction(try authority.sign(transaction()), expecting: apps).rejection
    #expect(rejection?.reason == reason, "\(String(describing: rejection))", sourceLocation: sourceLocation)
    #expect(verifier.signatures.cache.count == 0, sourceLocation: sourceLocation)
  }
}
