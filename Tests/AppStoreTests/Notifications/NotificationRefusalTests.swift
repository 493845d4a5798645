import Crypto
import Domain
import RoleSupport
import TestSupport
import Testing

@testable import AppStore

/// Notifications that the verifier refuses. Each has one fault, and everything else is right.
struct NotificationRefusalTests {
  private let lab: NotificationLab

  init() throws { lab = try NotificationLab() }

  private func reason(_ change: (inout NotificationPayload) -> Void) throws -> Rejection.Reason? {
    try lab.verdict(lab.notification(change)).rejection?.reason
  }

  /// The reason for the nested texts; by default they are right.
  private func reason(
    _ transaction: (inout TransactionPayload) -> Void = { _ in },
    renewal: (inout RenewalInfoPayload) -> Void = { _ in }, expecting apps: AcceptedApps = NotificationLab.apps
  ) throws -> Rejection.Reason? {
    try lab.verdict(
      lab.authority.sign(lab.transaction(transaction)), lab.authority.sign(lab.renewalInfo(renewal)), expecting: apps
    ).rejection?.reason
  }

  // MARK: Forged

  @Test func `somebody else signed it`() throws {
    let other = try TestAuthority()
    func reason(_ text: String) -> Rejection.Reason? {
      lab.verifier.notification(text, expecting: NotificationLab.apps).rejection?.reason
    }
    #expect(reason(try other.sign(lab.notification())) == .chainUntrusted)
    #expect(reason(try lab.authority.sign("{}", key: .generate())) == .signatureInvalid)
    let parts = try lab.authority.sign(lab.notification()).split(separator: ".")
    let changed = try lab.authority.sign(lab.notification { $0.notificationType = .refund }).split(separator: ".")
    #expect(reason("\(parts[0]).\(changed[1]).\(parts[2])") == .signatureInvalid)
    #expect(reason("\(parts[0]).\(parts[1]).") == .signatureInvalid)
  }

  @Test func `somebody else signed what is nested in it`() throws {
    let (good, other) = (try lab.authority.sign(lab.transaction()), try TestAuthority())
    let renewal = try other.sign(lab.renewalInfo())
    #expect(try lab.verdict(other.sign(lab.transaction())).rejection?.reason == .chainUntrusted)
    #expect(try lab.verdict(good, renewal).rejection?.reason == .chainUntrusted)
    #expect(try lab.verdict(nil, renewal).rejection?.reason == .chainUntrusted)
    #expect(try lab.verdict(good + "A").rejection?.reason == .signatureInvalid)
    let download = try other.sign(lab.appTransaction())
    let verdict = try lab.notification(.rescindConsent) {
      var data = NotificationAppData()
      (data.bundleId, data.environment, data.signedAppTransactionInfo) = ("com.example", .sandbox, download)
      $0.appData = data
    }
    #expect(verdict.rejection?.reason == .chainUntrusted)
  }

  /// Apple signs no data of these environments, so a notification of them is somebody's own. An app that accepts Xcode
  /// for the developer's purchases accepts no notifications of it.
  @Test(arguments: [Environment.xcode, .localTesting])
  func `nobody posts for Xcode`(environment: Environment) throws {
    let app = AcceptedApps([AcceptedApps.App(bundleId: "com.example", environments: [environment, .sandbox])])
    for apps in [app, .anyApp(in: [environment])] {
      let payload = lab.notification { $0.data?.environment = environment }
      #expect(try lab.verdict(payload, expecting: apps).rejection?.reason == .environmentMismatch)
      // One certificate of the sender's own, as in Xcode.
      let text = try lab.authority.sign(
        #"{"notificationType":"DID_RENEW","data":{"bundleId":"com.example","environment":"\#(environment)"}}"#,
        x5c: [lab.authority.leaf])
      #expect(lab.verifier.notification(text, expecting: apps).rejection?.reason == .chainLengthInvalid)
    }
    let nested = try lab.authority.sign(
      #"{"transactionId":"2","bundleId":"com.example","environment":"\#(environment)"}"#,
      x5c: [lab.authority.leaf])
    #expect(try lab.verdict(nested, expecting: app).rejection?.reason == .chainLengthInvalid)
  }

  // MARK: Foreign

  @Test func `it is for another app or environment`() throws {
    #expect(try reason { $0.data?.bundleId = "com.other" } == .bundleIdMismatch)
    #expect(try reason { $0.data?.bundleId = nil } == .bundleIdMismatch)
    #expect(try reason { $0.data = nil } == .bundleIdMismatch)
    #expect(try reason { $0.data?.environment = nil } == .environmentMismatch)
    #expect(try reason { $0.data?.environment = Environment("Moon") } == .environmentMismatch)
    let production = AcceptedApps([AcceptedApps.App(bundleId: "com.example", environments: [.production])])
    #expect(try lab.verdict(lab.notification(), expecting: production).rejection != nil)
    #expect(try lab.verdict(lab.notification(), expecting: AcceptedApps([])).rejection?.reason == .bundleIdMismatch)
  }

  @Test func `Apple's id of the app counts in production`() throws {
    func reason(_ id: Int64?, _ environment: Environment, configured: Int64? = 1234) throws
      -> Rejection.Reason?
    {
      let payload = lab.notification {
        $0.data?.appAppleId = id
        $0.data?.environment = environment
      }
      let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example", appAppleId: configured)])
      return try lab.verdict(payload, expecting: apps).rejection?.reason
    }
    #expect(try reason(1234, .production) == nil)
    #expect(try reason(1235, .production) == .appAppleIdMismatch)
    #expect(try reason(nil, .production) == .appAppleIdMismatch)
    #expect(try reason(0, .production) == .appAppleIdMismatch)
    #expect(try reason(0, .production, configured: 0) == .appAppleIdMismatch)
    #expect(try reason(0, .sandbox) == nil)
    #expect(try reason(1234, .production, configured: nil) == .appAppleIdMismatch)
    #expect(try reason(nil, .sandbox) == nil)
    #expect(try reason(1235, .sandbox, configured: nil) == nil)
  }

  // MARK: Mixed

  @Test func `its transaction is from elsewhere`() throws {
    let both = AcceptedApps(["com.example", "com.other"].map { AcceptedApps.App(bundleId: $0, appAppleId: 1234) })
    #expect(try reason() == nil)
    #expect(try reason({ $0.bundleId = "com.other" }, expecting: both) == .unrelated)
    #expect(try reason({ $0.bundleId = "com.other" }) == .bundleIdMismatch)
    #expect(try reason({ $0.bundleId = nil }) == .bundleIdMismatch)
    #expect(try reason({ $0.environment = .production }) == .unrelated)
    #expect(try reason({ $0.environment = nil }) == .environmentMismatch)
  }

  @Test func `its renewal information is about another purchase`() throws {
    #expect(try reason(renewal: { $0.originalTransactionId = "7" }) == .unrelated)
    #expect(try reason(renewal: { $0.originalTransactionId = nil }) == .unrelated)
    #expect(try reason({ $0.originalTransactionId = nil }) == .unrelated)
    #expect(
      try reason({ $0.originalTransactionId = nil }, renewal: { $0.originalTransactionId = nil }) == .unrelated)
    #expect(try reason(renewal: { $0.environment = .production }) == .unrelated)
    #expect(try reason(renewal: { $0.environment = nil }) == .environmentMismatch)
    let alone = try lab.authority.sign(lab.renewalInfo { $0.environment = .production })
    #expect(try lab.verdict(nil, alone).rejection?.reason == .unrelated)
  }

  @Test func `its app transaction is of another app`() throws {
    func reason(_ change: (inout AppTransactionPayload) -> Void) throws -> Rejection.Reason? {
      let text = try lab.authority.sign(lab.appTransaction(change))
      return try lab.notification(.rescindConsent) {
        var data = NotificationAppData()
        (data.bundleId, data.appAppleId, data.environment) = ("com.example", 1234, .sandbox)
        data.signedAppTransactionInfo = text
        $0.appData = data
      }.rejection?.reason
    }
    #expect(try reason { _ in } == nil)
    #expect(try reason { $0.appAppleId = 1234 } == nil)
    #expect(try reason { $0.appAppleId = 1235 } == .unrelated)
    // Apple documents 0 for the sandbox: it is no id.
    #expect(try reason { $0.appAppleId = 0 } == nil)
    #expect(try reason { $0.bundleId = "com.other" } == .bundleIdMismatch)
    #expect(
      try reason {
        $0.receiptType = .production
        $0.appAppleId = 1234
      } == .unrelated)
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
  @Test func `the app and the purchase are their bytes`() throws {
    let apps = AcceptedApps(["K", "\u{212A}"].map { AcceptedApps.App(bundleId: $0) })
    let nested = try lab.authority.sign(lab.transaction { $0.bundleId = "\u{212A}" })
    let payload = lab.notification {
      $0.data?.bundleId = "K"
      $0.data?.signedTransactionInfo = nested
    }
    #expect(try lab.verdict(payload, expecting: apps).rejection?.reason == .unrelated)
    #expect(
      try reason({ $0.originalTransactionId = "K1" }, renewal: { $0.originalTransactionId = "\u{212A}1" })
        == .unrelated)
  }

  /// A transaction as renewal information, and the other way round.
  @Test func `its texts are of another kind`() throws {
    let (transaction, renewalInfo) = (
      try lab.authority.sign(lab.transaction()), try lab.authority.sign(lab.renewalInfo())
    )
    #expect(try lab.verdict(renewalInfo).rejection?.reason == .kindMismatch)
    #expect(try lab.verdict(transaction, transaction).rejection?.reason == .kindMismatch)
    #expect(try lab.verdict(lab.authority.sign(lab.notification())).rejection?.reason == .kindMismatch)
    #expect(
      lab.verifier.notification(transaction, expecting: NotificationLab.apps).rejection?.reason == .kindMismatch)
  }

  // MARK: Malformed

  @Test func `it has no identity`() throws {
    #expect(try reason { $0.notificationUUID = nil } == .malformed)
    #expect(try reason { $0.notificationType = nil } == .malformed)
    #expect(try reason { $0.signedDate = nil } == .dateMissing)
    for text in ["", "\0", String(repeating: "1", count: 257)] {
      #expect(try reason { $0.notificationUUID = NotificationUUID(text) } == .malformed)
      #expect(try reason { $0.notificationType = NotificationType(rawValue: text) } == .malformed)
      // An empty subtype is none.
      #expect(try reason { $0.subtype = NotificationSubtype(rawValue: text) } == (text.isEmpty ? nil : .malformed))
    }
    #expect(try reason { $0.notificationUUID = NotificationUUID(String(repeating: "1", count: 256)) } == nil)
  }

  @Test(arguments: [
    "", "x", "[]", "null", #"{"notificationType":1}"#, #"{"data":[]}"#, #"{"data":{"status":"active"}}"#,
    #"{"notificationType":"TEST","notificationType":"TEST"}"#,
  ])
  func `its payload is not of the form`(payload: String) throws {
    let text = try lab.authority.sign(payload)
    #expect(lab.verifier.notification(text, expecting: NotificationLab.apps).rejection?.reason == .malformed)
    // An empty text is no nested data.
    let reason: Rejection.Reason? = payload.isEmpty ? nil : .malformed
    #expect(try lab.verdict(payload).rejection?.reason == reason)
    #expect(try lab.verdict(nil, payload).rejection?.reason == reason)
  }

  @Test func `it is too long`() throws {
    let limit = JSONWebSignature.maxLength
    #expect(limit == 2 << 20)
    // A genuine notification of nearly the limit is read.
    let filler = String(repeating: "x", count: 1_500_000)
    #expect(try reason { $0.data?.bundleVersion = filler } == nil)
    #expect(try reason { $0.data?.bundleVersion = filler + filler } == .malformed)
    let verdict = lab.verifier.notification(
      String(repeating: "A", count: limit + 1), expecting: NotificationLab.apps)
    #expect(verdict.rejection == Rejection(.malformed, "longer than \(limit) bytes"))
  }

  @Test func `a publisher's file may be what is wrong about an app, and about nothing else`() {
    let reasons = Rejection.Reason.known.filter { Rejection($0, "").dependsOnFile }
    #expect(reasons == [.bundleIdMismatch, .appAppleIdMismatch, .environmentMismatch])
  }
}
