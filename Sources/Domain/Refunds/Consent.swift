public import Formats

/// A customer's decision whether its publisher may tell Apple about the consumption of its purchases.
///
/// The ledger keeps every decision. The latest one counts, and of two at the same time the refusal. No decision lies in
/// the future: a consent that did would outlive a withdrawal.
public struct Consent: Sendable, Equatable {
  /// Whether the customer consented; `false` for a refusal, and for a consent that was withdrawn.
  public var isGiven: Bool
  /// The version of the text that the customer read.
  @Exact public var textVersion: String
  /// When the customer decided, in milliseconds since 1970.
  public var time: Int64

  /// Creates a decision.
  public init(isGiven: Bool, textVersion: String, time: Int64) {
    self.isGiven = isGiven
    self.textVersion = textVersion
    self.time = time
  }

  /// The clock of an app or a backend may be ahead by so much.
  public static let leeway: Int64 = 300_000

  /// The decision as it is kept: a time of a clock that is ahead is now. `nil` if the time lies too far ahead.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func kept(at now: Int64) -> Consent? {
    guard time <= now.adding(Self.leeway) else { return nil }
    return Consent(isGiven: isGiven, textVersion: textVersion, time: min(time, now))
  }
}
