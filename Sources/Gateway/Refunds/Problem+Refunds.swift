import Domain

extension Problem {
  /// Why a publisher's wish cannot be fulfilled.
  init(_ refusal: RefundRequest.Refusal) {
    switch refusal {
    case .isSending: self = .conflict("Another answer is on its way to Apple; GET shows it.")
    case .isAnswered: self = .conflict("Apple has another answer already; GET shows it.")
    case .isDecided: self = .conflict("Apple has decided about the refund already.")
    case .isLate: self = .conflict("The deadline has passed. Apple accepts answers for twelve hours.")
    }
  }

  /// An answer that Apple would not take for the product of the request.
  init(_ defect: ConsumptionAnswer.Defect) {
    switch defect {
    case .percentageOfSubscription:
      self = .invalidBody("consumptionPercentage: Apple accepts none for an auto-renewable subscription; leave it out")
    case .percentageOfUndelivered:
      self = .invalidBody("consumptionPercentage: expected 0 for something that was not delivered")
    case .proratedWithoutPercentage:
      self = .invalidBody(
        "refundPreference: GRANT_PRORATED needs a consumptionPercentage from 1 to 99999, except for a subscription")
    }
  }
}
