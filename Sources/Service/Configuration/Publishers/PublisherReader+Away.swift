import Domain

extension PublisherReader {
  /// Access before Apple has answered; `nil` while the publisher does not want it.
  func grantWhileAppleIsAway() -> GrantWhileAppleIsAway? {
    let isOn = reader.bool(
      "grantWhileAppleIsAway.enabled", false,
      "`true`: a receipt or a signed transaction that the gateway has verified gives access until Apple answers, "
        + "except for consumables.")
    let age = reader.seconds(
      "grantWhileAppleIsAway.maxEvidenceAgeSeconds", 3600, 1...2_592_000,
      "How old this receipt or signed transaction may be.")
    let limit = reader.seconds(
      "grantWhileAppleIsAway.limitSeconds", 86_400, 1...86_400, "How long this access lasts without Apple's answer.")
    return isOn ? GrantWhileAppleIsAway(maxEvidenceAge: age, limit: limit) : nil
  }
}
