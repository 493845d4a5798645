import Formats

/// What a publisher wants to happen when Apple asks about the consumption of one of its products.
public struct ConsumptionPolicy: Sendable, Equatable {
  /// Who answers.
  public enum Answerer: String, Sendable, CaseIterable {
    /// The publisher: an event asks it.
    case ask
    /// Countersign, from what it knows of the purchase, if the customer has consented.
    case fromFacts
  }

  public let answerer: Answerer
  /// What an answer from facts asks of Apple.
  public let preference: ConsumptionAnswer.Preference?
  /// Whether the customer could try the product before the purchase.
  public let isSampleProvided: Bool

  /// Creates a policy; by default the publisher is asked.
  public init(
    _ answerer: Answerer = .ask, preference: ConsumptionAnswer.Preference? = nil, isSampleProvided: Bool = false
  ) {
    self.answerer = answerer
    self.preference = preference
    self.isSampleProvided = isSampleProvided
  }

  /// The answer that the policy allows, from what is known of a transaction; `nil` if the publisher must be asked.
  ///
  /// Everything in it is true as far as the ledger knows: somebody owns the purchase, so it was delivered. Of a pass,
  /// the used part is the part of its time that has passed. Nobody here knows how much of another product was used, and
  /// of a subscription Apple knows it itself.
  ///
  /// - Parameters:
  ///   - owner: the customer of the request.
  ///   - consent: the customer's present decision.
  ///   - now: milliseconds since 1970.
  public static func answer(
    about facts: TransactionFacts, owner: CustomerId?, _ consent: Consent?, publisher: Publisher, now: Int64
  ) -> ConsumptionAnswer? {
    guard let offer = publisher.offers.offer(forProduct: facts.productId), offer.consumption.answerer == .fromFacts,
      // In shadow mode another system answers.
      publisher.mode == .live, owner != nil, consent?.isGiven == true,
      // Apple takes no answer about a purchase that a family member shares.
      !facts.isShared
    else { return nil }
    let policy = offer.consumption
    let percentage = facts.kind == .nonRenewing ? usedPart(of: facts, offer, now) : nil
    func answer(_ preference: ConsumptionAnswer.Preference?) -> ConsumptionAnswer {
      ConsumptionAnswer(
        .delivered, percentage: percentage, preference: preference, isSampleProvided: policy.isSampleProvided)
    }
    let wanted = answer(policy.preference)
    // A preference that Apple does not take here is left out. Apple decides then.
    return wanted.defect(for: facts.kind) == nil ? wanted : answer(nil)
  }

  private static func usedPart(of facts: TransactionFacts, _ offer: Offer, _ now: Int64) -> Int32? {
    guard let end = offer.endOfPass(bought: facts.purchaseDate), end > facts.purchaseDate else { return nil }
    let (used, whole) = (now.adding(-facts.purchaseDate), end - facts.purchaseDate)
    let part = Double(max(0, min(used, whole))) / Double(whole)
    return Int32(part * Double(ConsumptionAnswer.wholePercentage))
  }
}
