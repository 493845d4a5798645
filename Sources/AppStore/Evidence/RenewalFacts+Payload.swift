public import Domain

extension RenewalFacts {
  /// Takes the facts out of verified renewal information.
  ///
  /// - Parameter payloadSHA256: of the decoded payload.
  /// - Throws: when it does not say which purchase it is about, or when Apple signed it.
  public init(_ payload: RenewalInfoPayload, payloadSHA256: [UInt8]) throws(EvidenceDefect) {
    guard let original = payload.originalTransactionId, let environment = payload.environment,
      let signed = payload.signedDate
    else { throw .renewalFieldMissing }
    try EvidenceDefect.check(
      dates: [payload.gracePeriodExpiresDate, signed],
      texts: [original.text, environment.text, payload.autoRenewProductId?.text])
    self.init(
      originalTransactionId: original, environment: environment,
      willRenew: payload.autoRenewStatus.map { $0 == .on }, nextProductId: payload.autoRenewProductId,
      graceExpiresDate: payload.gracePeriodExpiresDate, isInBillingRetry: payload.isInBillingRetryPeriod,
      expirationIntent: payload.expirationIntent?.rawValue,
      priceIncreaseStatus: payload.priceIncreaseStatus?.rawValue, signedDate: signed, payloadSHA256: payloadSHA256)
  }
}
