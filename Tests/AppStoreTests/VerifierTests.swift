import Crypto
import Domain
import Formats
import FoundationEssentials
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Data that the verifier refuses. Each has one fault, and everything else is right.
struct VerifierTests {
  private let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example", appAppleId: 1234)])

  private func transaction(_ change: (inout TransactionPayload) -> Void = { _ in }) -> TransactionPayload {
    var payload = TransactionPayload()
    payload.transactionId = "2"
    payload.originalTransactionId = "1"
    payload.bundleId = "com.example"
    payload.environment = .sandbox
    payload.signedDate = TestAuthority.signedDate
    change(&payload)
    return payload
  }

  private func renewalInfo(of purchase: OriginalTransactionId = "1", in environment: AppStoreEnvironment = .sandbox)
    -> RenewalInfoPayload
  {
    var payload = RenewalInfoPayload()
    payload.originalTransactionId = purchase
    payload.autoRenewStatus = .on
    payload.environment = environment
    payload.signedDate = TestAuthority.signedDate
    return payload
  }

  private func notification(_ change: (inout NotificationPayload) -> Void = { _ in }) -> NotificationPayload {
    var payload = NotificationPayload()
    payload.notificationType = .didRenew
    payload.notificationUUID = "00000000-0000-4000-8000-000000000001"
    payload.signedDate = TestAuthority.signedDate
    var data = NotificationData()
    data.bundleId = "com.example"
    data.environment = .sandbox
    payload.data = data
    change(&payload)
    return payload
  }

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

  // MARK: App and environment

  @Test func origin() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    func reason(_ change: (inout TransactionPayload) -> Void) throws -> Rejection.Reason? {
      verifier.transaction(try authority.sign(transaction(change)), expecting: apps).rejection?.reason
    }
    #expect(try reason { $0.bundleId = "com.example.other" } == .bundleIdMismatch)
    #expect(try reason { $0.bundleId = nil } == .bundleIdMismatch)
    #expect(try reason { $0.environment = nil } == .environmentMismatch)
    #expect(try reason { $0.environment = .xcode } == .environmentMismatch)
    #expect(try reason { $0.environment = .localTesting } == .environmentMismatch)
    #expect(try reason { $0.environment = AppStoreEnvironment(rawValue: "production") } == .environmentMismatch)
    #expect(try reason { $0.environment = .production } == nil)
  }

  /// Each app has its own environments: the sandbox of one app does not open another app.
  @Test func environmentsBelongToTheirApp() throws {
    let authority = try TestAuthority()
    let apps = AcceptedApps([
      AcceptedApps.App(bundleId: "com.example", environments: [.production]),
      AcceptedApps.App(bundleId: "com.example.beta", environments: [.sandbox]),
    ])
    let verdict = try authority.verifier().transaction(authority.sign(transaction()), expecting: apps)
    #expect(verdict.rejection?.reason == .environmentMismatch)
  }

  // MARK: Kinds

  @Test func kindsAreNotConfused() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    var download = AppTransactionPayload()
    download.receiptType = .sandbox
    download.bundleId = "com.example"
    download.receiptCreationDate = TestAuthority.signedDate
    let texts: [SignedDataKind: String] = [
      .transaction: try authority.sign(transaction()), .renewalInfo: try authority.sign(renewalInfo()),
      .notification: try authority.sign(notification()), .appTransaction: try authority.sign(download),
    ]
    for (kind, text) in texts {
      #expect(SignedDataVerifier.kind(of: text) == kind)
      #expect((verifier.transaction(text, expecting: apps).payload != nil) == (kind == .transaction))
      #expect((verifier.renewalInfo(text, expecting: apps).payload != nil) == (kind == .renewalInfo))
      #expect((verifier.notification(text, expecting: apps).payload != nil) == (kind == .notification))
      #expect((verifier.appTransaction(text, expecting: apps).payload != nil) == (kind == .appTransaction))
    }
  }

  @Test func renewalInfoBelongsToItsTransaction() throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    let owner = transaction()
    func reason(_ payload: RenewalInfoPayload, _ owner: TransactionPayload) throws -> Rejection.Reason? {
      verifier.renewalInfo(try authority.sign(payload), belongingTo: owner).rejection?.reason
    }
    #expect(try reason(renewalInfo(), owner) == nil)
    #expect(try reason(renewalInfo(of: "7"), owner) == .unrelated)
    #expect(try reason(renewalInfo(in: .production), owner) == .environmentMismatch)
    #expect(try reason(renewalInfo(), transaction { $0.originalTransactionId = nil }) == .unrelated)
    #expect(try reason(renewalInfo(), transaction { $0.environment = nil }) == .unrelated)
  }

  // MARK: Names that only look alike, and repeated members

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`: otherwise another app could pass as this one.
  @Test(arguments: [("com.example.Kiosk", "com.example.\u{212A}iosk"), ("com.exampl\u{e9}", "com.example\u{301}")])
  func `a bundle id is its bytes`(ours: String, other: String) throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    let apps = AcceptedApps([AcceptedApps.App(bundleId: ours)])
    func reason(_ bundleId: String) throws -> Rejection.Reason? {
      verifier.transaction(try authority.sign(transaction { $0.bundleId = bundleId }), expecting: apps)
        .rejection?.reason
    }
    #expect(try reason(ours) == nil)
    #expect(try reason(other) == .bundleIdMismatch)
    // Two apps; the second one does not replace the first.
    let both = AcceptedApps([
      AcceptedApps.App(bundleId: ours, environments: [.sandbox]),
      AcceptedApps.App(bundleId: other, environments: [.production]),
    ])
    let text = try authority.sign(transaction { $0.bundleId = ours })
    #expect(verifier.transaction(text, expecting: both).payload?.bundleId?.exact == ours.exact)
  }

  @Test func `renewal information is of the same purchase by its bytes`() throws {
    let authority = try TestAuthority()
    let text = try authority.sign(renewalInfo(of: "\u{212A}1"))
    let owner = transaction { $0.originalTransactionId = "K1" }
    #expect(try authority.verifier().renewalInfo(text, belongingTo: owner).rejection?.reason == .unrelated)
  }

  private static let good =
    #""transactionId":"2","bundleId":"com.example","environment":"Sandbox","signedDate":1720000000000"#

  @Test(arguments: [
    #"{"bundleId":"com.other",\#(good)}"#, #"{\#(good),"bundleId":"com.other"}"#,
    #"{\#(good),"bundleId":"com.example"}"#,
    #"{\#(good),"bundle\u0049d":"com.example"}"#, #"{\#(good),"new":1,"new":1}"#,
    #"{\#(good),"advancedCommerceInfo":{"a":[{"b":1,"b":2}]}}"#, #"{\#(good),"new":{"x":1,"\u0078":2}}"#,
  ])
  func `a payload with the same member twice is malformed`(payload: String) throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    #expect(verifier.transaction(try authority.sign("{\(Self.good)}"), expecting: apps).rejection == nil)
    #expect(verifier.transaction(try authority.sign(payload), expecting: apps).rejection?.reason == .malformed)
  }

  @Test(arguments: [#"{"alg":"ES256","#, #"{"al\u0067":"none","#, #"{"x":{"y":1,"y":2},"#])
  func `a header with the same member twice is malformed`(start: String) throws {
    let authority = try TestAuthority()
    let parts = try authority.sign(transaction()).split(separator: ".")
    let header = try #require(Base64URL.decode(parts[0]))
    let changed = Base64URL.encode(Array(start.utf8) + header.dropFirst()) + "." + parts[1]
    let text = "\(changed)." + Base64URL.encode(try authority.leafKey.signature(for: Array(changed.utf8)))
    #expect(try authority.verifier().transaction(text, expecting: apps).rejection?.reason == .malformed)
  }

  // MARK: Environments for which Apple does not sign

  @Test func xcodeOnlyWhenAccepted() throws {
    let authority = try TestAuthority()
    let payload = String(decoding: try encoded(transaction { $0.environment = .xcode }), as: UTF8.self)
    let text = try authority.sign(payload, x5c: [authority.leaf])
    let developer = AcceptedApps([AcceptedApps.App(bundleId: "com.example", environments: [.xcode])])
    let verifier = SignedDataVerifier()
    #expect(verifier.transaction(text, expecting: apps).rejection?.reason == .chainLengthInvalid)
    #expect(verifier.transaction(text, expecting: developer).payload?.environment == .xcode)
    let forged = try authority.sign(payload, x5c: [authority.leaf], key: .generate())
    #expect(verifier.transaction(forged, expecting: developer).rejection?.reason == .signatureInvalid)
    // A verifier that accepts Xcode still refuses any other data with a chain of one.
    let sandbox = try authority.sign(String(decoding: try encoded(transaction()), as: UTF8.self), x5c: [authority.leaf])
    #expect(verifier.transaction(sandbox, expecting: developer).rejection?.reason == .chainLengthInvalid)
    let both = AcceptedApps([AcceptedApps.App(bundleId: "com.example", environments: [.xcode, .sandbox])])
    #expect(verifier.transaction(sandbox, expecting: both).rejection?.reason == .chainLengthInvalid)
  }

  private func expectRejection(
    _ reason: Rejection.Reason, of authority: TestAuthority, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let verifier = try authority.verifier()
    let rejection = verifier.transaction(try authority.sign(transaction()), expecting: apps).rejection
    #expect(rejection?.reason == reason, "\(String(describing: rejection))", sourceLocation: sourceLocation)
    #expect(verifier.signatures.cache.count == 0, sourceLocation: sourceLocation)
  }

  /// Apple signs other data with the same keys. Such data is no renewal information.
  @Test(arguments: [
    #"{"originalTransactionId":"1","appAppleId":1,"environment":"Sandbox","signedDate":1720000000000}"#,
    #"{"originalTransactionId":"1","requestIdentifier":"x","environment":"Sandbox","signedDate":1720000000000}"#,
    #"{"originalTransactionId":"1","userLocale":"en","environment":"Sandbox","signedDate":1720000000000}"#,
  ])
  func otherSignedData(payload: String) throws {
    let authority = try TestAuthority()
    let text = try authority.sign(payload)
    #expect(try authority.verifier().renewalInfo(text, expecting: apps).rejection?.reason == .kindMismatch)
    #expect(
      try authority.verifier().renewalInfo(text, belongingTo: transaction()).rejection?.reason == .kindMismatch)
  }

  /// A key with a line break must not become a line in a log or on a terminal.
  @Test func rejectionsAreOneLine() throws {
    let text = try TestAuthority().sign(#"{"advancedCommerceInfo":{"a":1},"price":{"a":1},"x\nrejected: y":1}"#)
    let rejection = try TestAuthority().verifier().transaction(text, expecting: apps).rejection
    #expect(rejection?.description.contains("\n") == false)
    #expect(Rejection(.malformed, "a\nb\u{7}").text == "a?b?")
  }

  @Test func anAppListedTwice() throws {
    let twice = AcceptedApps([
      AcceptedApps.App(bundleId: "com.example", appAppleId: 1234, environments: [.production]),
      AcceptedApps.App(bundleId: "com.example", environments: [.sandbox]),
    ])
    let authority = try TestAuthority()
    for environment in [AppStoreEnvironment.production, .sandbox] {
      let text = try authority.sign(transaction { $0.environment = environment })
      #expect(try authority.verifier().transaction(text, expecting: twice).payload != nil)
    }
  }
}

private func encoded(_ payload: some Encodable) throws -> Data {
  try JSONEncoder().encode(payload)
}
