import Formats

/// Signed bodies that serve every caller. A client that verifies does the same work for a kept answer.
struct SignedAnswers {
  /// Everything that a signed body depends on, except the time.
  struct Key: Hashable {
    var purchase: Purchase
    var endpoint: StoreEndpoint
    var statuses: Set<Int> = []
    var seal = StoreDecision.Seal.genuine
  }

  /// A transaction of one app, in one environment.
  struct Purchase: Hashable {
    var environment: StoreEnvironment
    var bundleId: ExactText
    var transactionId: String

    init(_ question: StoreQuestion) {
      environment = question.environment
      bundleId = question.app.bundleId
      transactionId = question.transactionId
    }
  }

  /// Each body lasts for one second from its signature.
  private var recent = RecentlyUsed<Key, (body: [UInt8], until: Int64)>(capacity: 512)
  /// Bodies that were signed ahead; they last until the next request to sign ahead.
  private var ahead: [Key: [UInt8]] = [:]

  /// - Parameter now: UNIX milliseconds.
  mutating func body(_ key: Key, now: Int64) -> [UInt8]? {
    if let body = ahead[key] { return body }
    guard let known = recent[key], known.until > now else { return nil }
    return known.body
  }

  mutating func keep(_ body: [UInt8], for key: Key, now: Int64) { recent.set((body, now + 1000), for: key) }

  /// Forgets the bodies of the last request to sign ahead.
  mutating func beginAhead() { ahead.removeAll() }

  mutating func keepAhead(_ body: [UInt8], for key: Key) { ahead[key] = body }
}
