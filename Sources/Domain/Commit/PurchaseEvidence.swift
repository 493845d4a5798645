/// A new piece of evidence, with the purchase that it is of.
public struct PurchaseEvidence: Sendable {
  public let purchase: PurchaseKey
  public let piece: Evidence

  /// Creates a pair.
  public init(of purchase: PurchaseKey, _ piece: Evidence) { (self.purchase, self.piece) = (purchase, piece) }
}
