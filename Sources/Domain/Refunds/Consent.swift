/// A customer's decision whether its publisher may tell Apple about the consumption of its purchases.
///
/// The ledger keeps every decision. The latest one that lies not in the future counts.
public struct Consent: Sendable, Equatable {
  /// Whether the customer consented; `false` for a refusal, and for a consent that was withdrawn.
  public let isGiven: Bool
  /// The version of the text that the customer read.
  public let textVersion: String
  /// When the customer decided, in milliseconds since 1970.
  public let time: Int64

  /// Creates a decision.
  public init(isGiven: Bool, textVersion: String, time: Int64) {
    self.isGiven = isGiven
    self.textVersion = textVersion
    self.time = time
  }
}
