import AppStore
import Domain
import EventLoop
import Formats

/// Verifies what the apps bring, before anything is kept: receipts (PKCS #7) and signed transactions (JWS).
///
/// A receipt costs its sender nothing and this gateway a certificate chain. So only some are read at a time, each on a
/// thread of the pool, and the others wait in a line that has an end.
@LoopActor
final class EvidenceIntake {
  /// The most bytes of a receipt or a signed transaction.
  nonisolated static let longest = 2 << 20
  /// The most bytes of the receipts that wait.
  private static let mostWaiting = 64 << 20

  private let signedData: SignedDataVerifier
  private let receipts: ReceiptVerifier
  private let atOnce: Int
  private var reading = 0
  private var waitingBytes = 0
  private var line: [CheckedContinuation<Void, Never>] = []

  /// - Parameters:
  ///   - roots: the configured roots; `nil` trusts Apple's.
  ///   - atOnce: how many receipts are read at a time.
  init(roots: TrustedRoots?, _ signedData: SignedDataVerifier, atOnce: Int) {
    receipts = ReceiptVerifier(roots: roots ?? .appleForReceipts)
    self.signedData = signedData
    self.atOnce = atOnce
  }

  /// Reads a receipt in base64.
  ///
  /// - Parameter bundleId: the only app that it may be of; `nil` takes any app of the publisher.
  func receipt(
    _ base64: String, publisher: Publisher, bundleId: String? = nil
  ) async throws(EvidenceRefusal) -> LocalEvidence {
    let size = base64.utf8.count
    guard size <= Self.longest / 3 * 4 + 4096 else { throw .tooLarge }
    guard waitingBytes + size <= Self.mostWaiting else { throw .busy }
    waitingBytes += size
    if reading < atOnce { reading += 1 } else { await withCheckedContinuation { line.append($0) } }
    defer {
      waitingBytes -= size
      if line.isEmpty { reading -= 1 } else { line.removeFirst().resume() }
    }
    let (verifier, apps) = (receipts, publisher.acceptedApps(bundleId: bundleId))
    let work: @Sendable () -> (Verdict<AppReceipt>, [UInt8]) = {
      (verifier.receipt(base64, expecting: apps), LocalEvidence.sha256(ofReceipt: base64))
    }
    guard let (verdict, sha256) = try? await EventLoop.offload(work) else { throw .busy }
    let receipt = try Self.accepted(verdict)
    return try LocalEvidence(receipt, sha256: sha256, publisherId: publisher.id)
  }

  /// Reads a signed transaction. A subscription's renewal is no other kind of evidence than its first period.
  func signedTransaction(
    _ jws: String, publisher: Publisher, bundleId: String? = nil
  ) throws(EvidenceRefusal) -> LocalEvidence {
    guard jws.utf8.count <= Self.longest else { throw .tooLarge }
    let payload = try Self.accepted(
      signedData.transaction(jws, expecting: publisher.acceptedApps(bundleId: bundleId)))
    return try LocalEvidence(payload, jws: jws, publisherId: publisher.id)
  }

  private static func accepted<Payload>(_ verdict: Verdict<Payload>) throws(EvidenceRefusal) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .rejected(let rejection): throw .rejected(rejection)
    case .tryLater: throw .busy
    }
  }
}
