import Crypto
import Domain
import Foundation
import JSON
import TestSupport
import Testing

@testable import AppStore

/// Every fixture gets the verdict of Apple's own library, except where docs/internals/verification.md says that we are
/// stricter.
struct FixtureVerdictTests {
  /// A row of either table. One table calls the environment `env` and the bundle id `bundle`.
  struct Row: Decodable {
    var file: String
    var method: String
    var env: String?
    var environment: String?
    var bundle: BundleId?
    var bundleId: BundleId?
    var appAppleId: Int64?
    var root: String?
    var isX509Strict: Bool?
    var result: String?
    var pythonVerdict: String?

    enum CodingKeys: String, CodingKey {
      case file, method, env, environment, bundle, bundleId, appAppleId, root, result, pythonVerdict
      case isX509Strict = "x509_strict"
    }

    var apps: AcceptedApps {
      AcceptedApps([
        AcceptedApps.App(
          bundleId: bundle ?? bundleId ?? "", appAppleId: appAppleId,
          environments: [Environment(env ?? environment ?? "")])
      ])
    }

    var expected: String { String((result ?? pythonVerdict ?? "").prefix { $0 != " " }) }

    func rejection(of data: Fixtures, by verifier: SignedDataVerifier) throws -> Rejection? {
      let jws = try data.text(file)
      return switch method {
      case "txn": verifier.transaction(jws, expecting: apps).rejection
      case "renew": verifier.renewalInfo(jws, expecting: apps).rejection
      case "notif": verifier.notification(jws, expecting: apps).rejection
      case "app": verifier.appTransaction(jws, expecting: apps).rejection
      default: Rejection(.malformed, "unknown method \(method)")
      }
    }
  }

  /// Apple's library accepts these; this project refuses them on purpose.
  static let stricter: [String: Rejection.Reason] = [
    "jws/x5c-leaf-trailing-byte.jws": .certificateInvalid,
    "jws/signed-date-missing.jws": .dateMissing,
    "jws/signed-date-string.jws": .malformed,
    "jws/price-string.jws": .malformed,
    "jws/padded-base64url.jws": .malformed,
    // Readers disagree on which of two equal members counts (Python takes the last one), so neither counts.
    "jws/dup-key-bundle-last-good.jws": .malformed,
    "jws/transaction-as-renewal-info.jws": .kindMismatch,
  ]

  @Test func minted() throws {
    let verifier = SignedDataVerifier(roots: try TrustedRoots(files: [Fixtures.minted.path("jws-root.der")]))
    let rows = try Fixtures.minted.decoded("jws-expected.json", as: [Row].self)
    #expect(rows.count > 50)
    for row in rows {
      let rejection = try row.rejection(of: .minted, by: verifier)
      let about = Comment(rawValue: "\(row.file): \(row.expected), got \(rejection?.description ?? "accepted")")
      if let reason = Self.stricter[row.file] {
        #expect(row.expected == "OK" && rejection?.reason == reason, about)
      } else {
        #expect((row.expected == "OK") == (rejection == nil), about)
        if row.expected == "INVALID_APP_IDENTIFIER" {
          #expect(rejection?.reason == .bundleIdMismatch || rejection?.reason == .appAppleIdMismatch, about)
        }
        if row.expected == "INVALID_CHAIN_LENGTH" { #expect(rejection?.reason == .chainLengthInvalid, about) }
        if row.expected == "INVALID_ENVIRONMENT", row.method != "app" {
          #expect(rejection?.reason == .environmentMismatch, about)
        }
      }
    }
  }

  @Test(
    .enabled(
      if: Fixtures.hasApples,
      Comment(rawValue: Fixtures.withoutApples("the verdicts on Apple's test data and on its one real notification"))))
  func fromApple() throws {
    let test = SignedDataVerifier(roots: try TrustedRoots(files: [Fixtures.apple.path("apple/certs/testCA.der")]))
    let apple = SignedDataVerifier()
    let rows = try Fixtures.minted.decoded("apple-expected.json", as: [Row].self)
    for row in rows where row.root != nil && row.isX509Strict != nil {
      let rejection = try row.rejection(of: .apple, by: row.root == "testCA" ? test : apple)
      let about = Comment(
        rawValue: "\(row.file) \(row.method) \(row.env ?? ""): \(row.expected), got \(rejection?.description ?? "OK")")
      // X509_STRICT refuses Apple's test authority; we do not set it.
      if row.isX509Strict == true, row.root == "testCA" { continue }
      if row.file == "apple/mock_signed_data/transactionInfo", row.method == "renew" {
        #expect(rejection?.reason == .kindMismatch, about)
      } else {
        #expect((row.expected == "OK") == (rejection == nil), about)
      }
    }
  }

  /// The only data here that Apple really signed, with its P-384 authorities and the built-in roots.
  @Test(
    .enabled(
      if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("a notification that Apple signed for real"))))
  func realNotification() throws {
    let verifier = SignedDataVerifier()
    let jws = try Fixtures.apple.text("apple/test-notification-sandbox-2025-09-05.jws")
    let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.loki-project.loki-messenger")])
    for _ in 0..<3 {
      let payload = verifier.notification(jws, expecting: apps).payload?.payload
      #expect(payload?.notificationType == .test)
      #expect(payload?.signedDate == 1_757_035_472_686)
    }
    #expect(verifier.signatures.cache.count == 1)
  }

  @Test(
    .enabled(
      if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("the fields of Apple's example payloads"))))
  func payloadFields() throws {
    let transaction = try TransactionPayload(
      JSONText(Fixtures.apple.bytes("apple/models/signedTransactionWithRevocation.json")))
    #expect(transaction.revocationType == .refundProrated)
    #expect(transaction.revocationPercentage == 50_000)
    #expect(transaction.price == 10_990)
    let renewal: RenewalInfoPayload = try Fixtures.apple.decoded("apple/models/signedRenewalInfo.json")
    #expect(renewal.commitmentInfo?.commitmentRenewalPrice == 9990)
    #expect(renewal.eligibleWinBackOfferIds == ["eligible1", "eligible2"])
    let notification: NotificationPayload = try Fixtures.apple.decoded("apple/models/signedSummaryNotification.json")
    #expect(notification.summary?.failedCount == 2)
    let app: AppTransactionPayload = try Fixtures.apple.decoded("apple/models/appTransaction.json")
    #expect(app.appTransactionId == "71134" && app.versionExternalIdentifier == 512)
  }

  @Test func largePriceIsExact() throws {
    let jws = try JSONWebSignature(try Fixtures.minted.text("jws/price-int64.jws"))
    #expect(try jws.decoded(as: TransactionPayload.self).price == 9_007_199_254_740_993)
  }

  /// Authorities that another library made: markers, and validity at the date of signing.
  @Test(arguments: [
    ("transaction.jws", "jws-root.der", nil),
    ("transaction-no-leaf-oid.jws", "jws-no-leaf-oid-root.der", Rejection.Reason.markerOIDMissing),
    ("transaction-no-intermediate-oid.jws", "jws-no-intermediate-oid-root.der", .markerOIDMissing),
    ("expired-cert-historical.jws", "jws-expired-root.der", nil),
    ("expired-cert-fresh.jws", "jws-expired-root.der", .chainUntrusted),
    ("transaction.jws", "jws-expired-root.der", .chainUntrusted),
  ])
  func generatedAuthority(file: String, root: String, reason: Rejection.Reason?) throws {
    let verifier = SignedDataVerifier(roots: try TrustedRoots(files: [Fixtures.minted.path("authority/\(root)")]))
    let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.app", appAppleId: 123_456_789)])
    let verdict = verifier.transaction(try Fixtures.minted.text("authority/\(file)"), expecting: apps)
    #expect(verdict.rejection?.reason == reason)
    #expect(verifier.signatures.cache.count == (reason == nil ? 1 : 0))
  }
}
