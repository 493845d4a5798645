extension WebhookEndpoint {
  /// The most old keys that may sign besides the newest: each adds a signature to one header.
  public static let maxOldSecrets = 10

  /// Makes a key the newest. The keys before it sign for a while longer, so that receivers have time to change.
  ///
  /// An overlap never gives an old key more time than it had. Zero ends all of them, as after a leak. A key that is
  /// already the newest changes nothing, so that a repeated request does no harm.
  ///
  /// - Parameters:
  ///   - overlap: for how many milliseconds the old keys still sign.
  ///   - now: milliseconds since 1970.
  /// - Returns: whether it took effect. While ``maxOldSecrets`` old keys still sign, there is no room for another.
  public mutating func rotate(to key: [UInt8], overlap: Int64, now: Int64) -> Bool {
    if secrets.first?.key == key { return true }
    // A key that comes back is the newest again. It is not an old key at the same time.
    let old = secrets.filter { $0.key != key }.compactMap { secret -> Secret? in
      let end = min(secret.expiresAt ?? .max, now + overlap)
      return now < end ? Secret(key: secret.key, expiresAt: end) : nil
    }
    guard old.count <= Self.maxOldSecrets else { return false }
    secrets = [Secret(key: key)] + old
    // Old keys that nobody can read cannot sign for a while longer. They can only end at once.
    if overlap == 0 { secretsDefect = nil }
    return true
  }
}
