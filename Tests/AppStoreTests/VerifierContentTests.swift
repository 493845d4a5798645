import Crypto
import Domain
import Formats
import FoundationEssentials
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Signed data that the verifier refuses for what it says. Each has one fault, and everything else is right.
struct VerifierContentTests: VerifierSuite {
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
    #expect(try reason { $0.environment = Environment("production") } == .environmentMismatch)
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
  func `a bundle id is its bytes`(ours: BundleId, other: BundleId) throws {
    let authority = try TestAuthority()
    let verifier = try authority.verifier()
    let apps = AcceptedApps([AcceptedApps.App(bundleId: ours)])
    func reason(_ bundleId: BundleId) throws -> Rejection.Reason? {
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
    #expect(verifier.transaction(text, expecting: both).payload?.bundleId == ours)
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
    for environment in [Environment.production, .sandbox] {
      let text = try authority.sign(transaction { $0.environment = environment })
      #expect(try authority.verifier().transaction(text, expecting: twice).payload != nil)
    }
  }
}
