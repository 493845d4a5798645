/// Bodies that were signed once and are served to all who ask. Clients that verify do the same work for a kept answer.
struct SignedAnswers {
  /// What a signed body depends on, beside the time.
  struct Key: Hashable {
    var purchase: Purchase
    var endpoint: StoreEndpoint
    var statuses: Set<Int> = []
    var seal = StoreDecision.Seal.genuine
  }

  /// A transaction of one app, in one environment.
  struct Purchase: Hashable {
    var environment: StoreEnvironment
    var bundleId: String
    var transactionId: String

    init(_ question: StoreQuestion) {
      environment = question.environment
      bundleId = question.app.bundleId
      transactionId = question.transactionId
    }
  }

  /// Each for a second from when it was signed.
  private var recent = RecentlyUsed<Key, (body: [UInt8], until: Int64)>(capacity: 512)
  /// Signed ahead, and served until others are.
  private var ahead: [Key: [UInt8]] = [:]

  /// - Parameter now: UNIX milliseconds.
  mutating func body(_ key: Key, now: Int64) -> [UInt8]? {
    if let body = ahead[key] { return body }
    guard let known = recent[key], known.until > now else { return nil }
    return known.body
  }

  mutating func keep(_ body: [UInt8], for key: Key, now: Int64) { recent.set((body, now + 1000), for: key) }

  /// Forgets what was signed ahead before.
  mutating func beginAhead() { ahead.removeAll() }

  mutating func keepAhead(_ body: [UInt8], for key: Key) { ahead[key] = body }
}
