import Formats

/// How a piece of evidence reached us.
public enum EvidenceSource: String, Sendable, CaseIterable { case serverAPI, notification, receipt, client }

/// One piece of verified data of Apple's about a purchase, with the bytes that Apple signed.
///
/// `signedHeader + "." + base64url(payload) + "." + base64url(signature)` is the text that Apple signed.
public struct Evidence: Sendable, Equatable {
  /// The content of a piece.
  public enum Facts: Sendable, Equatable {
    case transaction(TransactionFacts)
    /// - Parameter status: Apple's unsigned status beside the renewal info.
    case renewalInfo(RenewalFacts, status: ReportedStatus?)
  }

  public var facts: Facts
  public var source: EvidenceSource
  /// The header as Apple signed it: the bytes of the base64url text, without the point behind it. It has the
  /// certificates.
  public var signedHeader: [UInt8]
  /// The decoded payload.
  public var payload: [UInt8]
  /// The decoded signature.
  public var signature: [UInt8]

  /// Creates a piece.
  public init(
    _ facts: Facts, source: EvidenceSource, signedHeader: [UInt8], payload: [UInt8], signature: [UInt8]
  ) {
    self.facts = facts
    self.source = source
    self.signedHeader = signedHeader
    self.payload = payload
    self.signature = signature
  }

  /// SHA-256 of the decoded payload: the name of the piece within its purchase.
  public var payloadSHA256: [UInt8] {
    switch facts {
    case .transaction(let facts): facts.payloadSHA256
    case .renewalInfo(let facts, _): facts.payloadSHA256
    }
  }

  /// When Apple signed, in milliseconds since 1970.
  public var signedDate: Int64 {
    switch facts {
    case .transaction(let facts): facts.signedDate
    case .renewalInfo(let facts, _): facts.signedDate
    }
  }

  /// The purchase that the piece is about.
  public func key(of publisherId: PublisherId) -> PurchaseKey {
    switch facts {
    case .transaction(let facts): facts.purchase(of: publisherId)
    case .renewalInfo(let facts, _):
      PurchaseKey(
        publisherId: publisherId, environment: facts.environment, originalTransactionId: facts.originalTransactionId)
    }
  }
}
