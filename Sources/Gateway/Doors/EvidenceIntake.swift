import AppStore
package import Domain
package import EventLoop
import Formats
package import HTTPServer
import Observability

/// Reads and verifies what the apps bring, before anything is kept: receipts (PKCS #7) and signed transactions (JWS).
///
/// A receipt costs its sender nothing and this gateway a certificate chain. So only some are read at a time, each on a
/// thread of the pool, and the others wait in a line in which publishers and addresses take turns (``EvidenceLine``). A
/// long signed transaction takes the same line, and so does a long body.
///
/// A signed transaction of the usual size does not: its chain is known after the first one, and the rest costs a tenth
/// of a millisecond, less than a thread. The loop does one thing at a time, so it verifies one at a time.
@LoopActor
package final class EvidenceIntake {
  /// The most bytes of a receipt or a signed transaction.
  package nonisolated static let longest = 2 << 20
  /// The most bytes of a signed transaction that the loop verifies itself. Apple's have 3 to 6 KB.
  nonisolated static let longestOnLoop = 16 << 10
  /// The most bytes of a body that the loop reads itself, in half a millisecond. The key of an app is in each copy of
  /// it, and its holder may post bodies that take the loop 7 ms.
  nonisolated static let longestBodyOnLoop = 128 << 10

  private let signedData: SignedDataVerifier
  private let receipts: ReceiptVerifier
  private let line: EvidenceLine

  /// - Parameters:
  ///   - roots: the configured roots; `nil` trusts Apple's.
  ///   - atOnce: how many texts are read at a time.
  init(roots: TrustedRoots?, _ signedData: SignedDataVerifier, atOnce: Int, _ metrics: Metrics) {
    receipts = ReceiptVerifier(roots: roots ?? .appleForReceipts)
    self.signedData = signedData
    line = EvidenceLine(EvidenceTurns.Limits(atOnce: atOnce), metrics)
  }

  /// Reads the body of a request; a long one on a thread of the pool, when it is its turn.
  ///
  /// - Throws: ``EvidenceRefusal/busy`` without a place in the line.
  package func reading<Value: Sendable, Failure: Error>(
    _ request: HTTPServerRequest, of publisher: PublisherId,
    _ read: @escaping @Sendable (HTTPServerRequest) throws(Failure) -> Value
  ) async throws(EvidenceRefusal) -> Result<Value, Failure> {
    let size = request.body.count
    guard size > Self.longestBodyOnLoop else { return Result { () throws(Failure) in try read(request) } }
    return try await inLine(size, of: publisher, from: request.origin) {
      Result { () throws(Failure) in try read(request) }
    }
  }

  /// Reads either.
  ///
  /// - Parameter origin: of the request that brought it.
  package func read(
    _ text: EvidenceText, publisher: Publisher, from origin: RequestOrigin
  ) async throws(EvidenceRefusal) -> LocalEvidence {
    switch text {
    case .receipt(let base64): try await receipt(base64, publisher: publisher, from: origin)
    case .signedTransaction(let jws): try await signedTransaction(jws, publisher: publisher, from: origin)
    }
  }

  /// Reads a receipt in base64.
  ///
  /// - Parameters:
  ///   - bundleId: the only app that it may be of; `nil` takes any app of the publisher.
  ///   - origin: of the request that brought it.
  package func receipt(
    _ base64: String, publisher: Publisher, bundleId: BundleId? = nil, from origin: RequestOrigin
  ) async throws(EvidenceRefusal) -> LocalEvidence {
    guard !publisher.apps.isEmpty else { throw .notActivated }
    let size = base64.utf8.count
    guard size <= Self.longest / 3 * 4 + 4096 else { throw .tooLarge }
    let (verifier, apps) = (receipts, publisher.acceptedApps(bundleId: bundleId))
    let (verdict, sha256) = try await inLine(size, of: publisher.id, from: origin) {
      (verifier.receipt(base64, expecting: apps), LocalEvidence.sha256(ofReceipt: base64))
    }
    let receipt = try Self.accepted(verdict, sha256: sha256)
    return try LocalEvidence(receipt, sha256: sha256, publisherId: publisher.id)
  }

  /// Reads a signed transaction. A subscription's renewal is no other kind of evidence than its first period.
  func signedTransaction(
    _ jws: String, publisher: Publisher, from origin: RequestOrigin
  ) async throws(EvidenceRefusal) -> LocalEvidence {
    guard !publisher.apps.isEmpty else { throw .notActivated }
    let size = jws.utf8.count
    guard size <= Self.longest else { throw .tooLarge }
    let (verifier, apps) = (signedData, publisher.acceptedApps())
    // Otherwise nobody needs the bytes again, and many requests may wait.
    let keepsPiece = publisher.grantWhileAppleIsAway != nil
    let (verdict, piece) =
      size <= Self.longestOnLoop
      ? Self.verified(jws, verifier, apps, keepsPiece)
      : try await inLine(size, of: publisher.id, from: origin) { Self.verified(jws, verifier, apps, keepsPiece) }
    return try LocalEvidence(Self.accepted(verdict), piece: piece, publisherId: publisher.id)
  }

  private nonisolated static func verified(
    _ jws: String, _ verifier: SignedDataVerifier, _ apps: AcceptedApps, _ keepsPiece: Bool
  ) -> (Verdict<TransactionPayload>, Evidence?) {
    guard keepsPiece else { return (verifier.transaction(jws, expecting: apps), nil) }
    switch verifier.signedTransaction(jws, expecting: apps) {
    case .accepted(let signed): return (.accepted(signed.payload), try? Evidence(signed, source: .client))
    case .rejected(let rejection): return (.rejected(rejection), nil)
    case .tryLater(let rejection): return (.tryLater(rejection), nil)
    }
  }

  /// Does work on a thread of the pool, when it is this text's turn.
  ///
  /// - Throws: ``EvidenceRefusal/busy`` without a place in the line.
  private func inLine<Value: Sendable>(
    _ size: Int, of publisher: PublisherId, from origin: RequestOrigin, _ work: @escaping @Sendable () -> Value
  ) async throws(EvidenceRefusal) -> Value {
    let source = EvidenceTurns.Source(publisher: publisher, address: AddressGroup(origin.client))
    guard let value = await line.read(size, of: source, work) else { throw .busy }
    return value
  }

  private static func accepted<Payload>(
    _ verdict: Verdict<Payload>, sha256: [UInt8]? = nil
  ) throws(EvidenceRefusal) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .rejected(let rejection): throw .rejected(rejection, sha256: sha256)
    case .tryLater: throw .busy
    }
  }
}
