import Crypto
public import Domain

extension Evidence {
  /// Makes evidence of a verified transaction.
  ///
  /// - Throws: when it does not say enough to decide by.
  public init(_ transaction: Verified<TransactionPayload>, source: EvidenceSource) throws(EvidenceDefect) {
    let facts = try TransactionFacts(transaction.payload, payloadSHA256: SHA256.hash(transaction.json))
    self.init(
      .transaction(facts), source: source, signedHeader: transaction.signedHeader, payload: transaction.json,
      signature: transaction.signature)
  }

  /// Makes evidence of verified renewal information and of Apple's unsigned status beside it, which takes its date.
  ///
  /// - Throws: when the renewal information does not say enough to decide by.
  public init(
    _ renewalInfo: Verified<RenewalInfoPayload>, status: SubscriptionStatus?, source: EvidenceSource
  ) throws(EvidenceDefect) {
    let facts = try RenewalFacts(renewalInfo.payload, payloadSHA256: SHA256.hash(renewalInfo.json))
    self.init(
      .renewalInfo(facts, status: status.map { ReportedStatus(code: $0.rawValue, date: facts.signedDate) }),
      source: source, signedHeader: renewalInfo.signedHeader, payload: renewalInfo.json,
      signature: renewalInfo.signature)
  }
}
