/// What one request takes of a credential's reads a second.
struct RequestCost: Equatable {
  /// How many such requests the credential may send in a second, at least one.
  let perSecond: Double

  /// - Parameters:
  ///   - reads: how many reads the request costs. All reads of a second are the most: else it could never be sent.
  ///   - rate: the credential's reads in a second.
  init(_ reads: Int, perSecond rate: Int) {
    let rate = max(1, rate)
    perSecond = Double(rate) / Double(min(max(1, reads), rate))
  }

  /// What the request takes of the tenth that a gateway counts by itself.
  var ownTime: Duration { .seconds(10 / perSecond) }
}
