import Crypto
import Domain
import Formats
import Foundation
import Observability
import TestSupport
import Testing

@testable import AppStore

/// Real receipts of Apple's sandbox and of Xcode, and minted ones, get the expected verdicts.
struct ReceiptFixtureTests {
  private static let any = AcceptedApps.anyApp(in: [.production, .sandbox])

  private func verifier(_ root: String?, of data: Fixtures = .apple) throws -> ReceiptVerifier {
    ReceiptVerifier(roots: try root.map { try TrustedRoots(files: [data.path($0)]) } ?? .apple)
  }

  @Test(
    .enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("real receipts of Apple's sandbox"))),
    arguments: [
      ("receipts/receipt-sandbox-g5", "2025-12-26T18:39:47Z", 2, "2000001092134138"),
      ("receipts/receipt-sandbox-g5-cliptrace", "2025-04-30T02:30:31Z", 1, "2000000909538865"),
      ("receipts/receipt-sandbox-legacy", "2020-05-06T18:28:49Z", 187, "1000000637840752"),
    ])
  func fromApple(file: String, created: String, purchases: Int, transaction: String) throws {
    let receipt = try #require(verifier(nil).receipt(Fixtures.apple.text(file), expecting: Self.any).payload)
    #expect(receipt.environment == .sandbox)
    #expect(receipt.receiptCreationDate == milliseconds(rfc3339: created))
    #expect(receipt.inApp.count == purchases)
    #expect(receipt.inApp.contains { [$0.transactionId?.text, $0.originalTransactionId?.text].contains(transaction) })
    #expect(receipt.inApp.allSatisfy { $0.quantity == 1 && $0.productId != nil && $0.purchaseDate != nil })
    let app = AcceptedApps([AcceptedApps.App(bundleId: receipt.bundleId)])
    #expect(try verifier(nil).receipt(Fixtures.apple.text(file), expecting: app).payload == receipt)
    let other = AcceptedApps([AcceptedApps.App(bundleId: "\(receipt.bundleId)x")])
    #expect(
      try verifier(nil).receipt(Fixtures.apple.text(file), expecting: other).rejection?.reason == .bundleIdMismatch)
    let production = AcceptedApps.anyApp(in: [.production])
    #expect(
      try verifier(nil).receipt(Fixtures.apple.text(file), expecting: production).rejection?.reason
        == .environmentMismatch)
  }

  @Test(.enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("the device of a real receipt"))))
  func deviceHash() throws {
    let text = try Fixtures.apple.text("receipts/receipt-sandbox-g5")
    let device = try #require(Hex.decode("956328D9CC6A47F4BE406953FB0AB6C7"))
    #expect(try verifier(nil).receipt(text, expecting: Self.any, device: device).payload != nil)
    let other = Array(device.dropLast() + [0])
    #expect(
      try verifier(nil).receipt(text, expecting: Self.any, device: other).rejection?.reason == .deviceMismatch)
  }

  @Test(
    .enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("receipts of Xcode"))),
    arguments: [
      ("receipts/receipt-xcode", "0"), ("receipts/receipt-xcode-with-purchases", "0"),
      ("apple/xcode/xcode-app-receipt-empty", nil), ("apple/xcode/xcode-app-receipt-with-transaction", "0"),
    ])
  func fromXcode(file: String, transaction: String?) throws {
    let text = try Fixtures.apple.text(file)
    let xcode = AcceptedApps.anyApp(in: [.xcode])
    #expect(try verifier(nil).receipt(text, expecting: xcode).rejection?.reason == .chainUntrusted)
    let anchored = try verifier("receipts/StoreKitTestCertificate.cer")
    let receipt = try #require(anchored.receipt(text, expecting: xcode).payload)
    #expect(receipt.environment == .xcode && receipt.inApp.first?.transactionId?.text == transaction)
    #expect(anchored.receipt(text, expecting: Self.any).rejection?.reason == .environmentMismatch)
  }

  /// Every user of Xcode has the key of its certificate, so the certificate must not be a root.
  @Test(
    .enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("the certificate of Xcode's receipts"))))
  func xcodeIsNoRoot() throws {
    let roots = try TrustedRoots(files: [Fixtures.apple.path("receipts/StoreKitTestCertificate.cer")])
    #expect(roots.certificates.isEmpty && roots.xcodeSigners.count == 1)
    let text = try Fixtures.apple.text("receipts/receipt-sandbox-g5")
    #expect(ReceiptVerifier(roots: roots).receipt(text, expecting: Self.any).rejection?.reason == .chainUntrusted)
    #expect(TrustedRoots.apple.xcodeSigners.isEmpty && TrustedRoots.apple.certificates.count == 3)
  }

  @Test(arguments: [
    ("receipt.der", "receipt-root.der", nil), ("receipt-double-wrapped.der", "receipt-root.der", nil),
    ("receipt-no-type.der", "receipt-root.der", nil), ("receipt-type-production.der", "receipt-root.der", nil),
    ("receipt-type-vpp.der", "receipt-root.der", nil), ("receipt-type-vpp-sandbox.der", "receipt-root.der", nil),
    ("receipt-expired-historical.der", "receipt-expired-root.der", nil),
    ("receipt-expired-fresh.der", "receipt-expired-root.der", Rejection.Reason.chainUntrusted),
    ("receipt-foreign.der", "receipt-root.der", .chainUntrusted),
    ("receipt.der", "receipt-expired-root.der", .chainUntrusted),
    // Plain `openssl cms -verify` accepts this one.
    ("receipt-no-signer-oid.der", "receipt-no-signer-oid-root.der", .markerOIDMissing),
  ])
  func generatedAuthority(file: String, root: String, reason: Rejection.Reason?) throws {
    let verdict = try verifier("authority/\(root)", of: .minted).receipt(
      Fixtures.minted.bytes("authority/\(file)"), expecting: Self.any)
    #expect(verdict.rejection?.reason == reason)
    if reason == nil { #expect(verdict.payload?.bundleId == "com.example.app") }
  }

  @Test func generatedDetails() throws {
    let device = try #require(
      Hex.decode(Fixtures.minted.text("authority/device-guid.hex").filter { $0.isHexDigit }))
    let receipt = try #require(
      verifier("authority/receipt-root.der", of: .minted).receipt(
        Fixtures.minted.bytes("authority/receipt.der"), expecting: Self.any, device: device
      ).payload)
    #expect(receipt.receiptType == "ProductionSandbox" && receipt.applicationVersion == "1.2.3")
    #expect(receipt.originalApplicationVersion == "1.0")
    #expect(receipt.receiptCreationDate == 1_722_945_600_000)
    #expect(receipt.inApp.map(\.productId) == ["com.example.app.coins100", "com.example.app.vip"])
    #expect(receipt.inApp.last?.expiresDate == milliseconds(rfc3339: "2030-02-01T09:30:00Z"))
  }

  @Test(.enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("Apple's transaction receipt"))))
  func transactionReceipt() throws {
    let text = try Fixtures.apple.text("apple/mock_signed_data/legacyTransaction")
    #expect(try verifier(nil).receipt(text, expecting: Self.any).rejection?.reason == .transactionReceipt)
  }

  @Test func aJWSIsNoReceipt() throws {
    let jws = try Fixtures.minted.text("jws/ok-transaction.jws")
    #expect(try verifier(nil).receipt(jws, expecting: Self.any).rejection?.reason == .kindMismatch)
  }

  /// Changes every byte of a real receipt, one at a time: the verifier never takes a changed receipt for Apple's.
  ///
  /// If no signature covers a byte, a change of it may do no harm (an unread certificate, an unused parameter). But
  /// then the content must still be the genuine one.
  @Test(
    .enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("each byte of a real receipt changed"))))
  func changedBytesOfARealReceipt() throws {
    let bytes = try #require(Base64.decode(Fixtures.apple.text("receipts/receipt-sandbox-g5-cliptrace")))
    try changeBytes(of: bytes, verifier(nil))
  }

  /// The same for a minted receipt.
  @Test func changedBytes() throws {
    let bytes = try Fixtures.minted.bytes("authority/receipt.der")
    try changeBytes(of: bytes, verifier("authority/receipt-root.der", of: .minted))
  }

  private func changeBytes(of bytes: [UInt8], _ verifier: ReceiptVerifier) throws {
    let genuine = try #require(verifier.receipt(bytes, expecting: Self.any).payload)
    for index in stride(from: 0, to: bytes.count, by: 3) {
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      if let payload = verifier.receipt(changed, expecting: Self.any).payload { #expect(payload == genuine) }
    }
  }
}
