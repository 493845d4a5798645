import Crypto

/// Admits calls by their `Authorization` header. It remembers good tokens, because clients use one token for many
/// calls.
struct TokenGate {
  private let apps: [Simulator.App]
  private let keys: [String: P256PublicKey]
  private var known = RecentlyUsed<String, BearerToken>(capacity: 1024)

  init(apps: [Simulator.App], keys: [String: P256PublicKey]) {
    self.apps = apps
    self.keys = keys
  }

  /// Returns the app that the header speaks for; `now` is in UNIX seconds.
  mutating func app(authorization: String?, now: Int64) throws(BearerToken.Refusal) -> Simulator.App {
    guard let authorization, authorization.hasPrefix("Bearer ") else { throw .missing }
    let token = if let known = known[authorization] { known } else { try read(authorization) }
    if let refusal = token.refusal(at: now) { throw refusal }
    return token.app
  }

  private mutating func read(_ authorization: String) throws(BearerToken.Refusal) -> BearerToken {
    let token = try BearerToken(authorization.dropFirst("Bearer ".count), apps: apps, keys: keys)
    known.set(token, for: authorization)
    return token
  }
}
