extension WebhookEndpoint {
  /// Old keys that may sign beside the newest: a signature each, in one header.
  public static let maxOldSecrets = 10

  /// Makes a key the newest; those before it sign for a while longer, so that receivers can change over at leisure.
  ///
  /// An overlap never gives an old key more time than it had: zero ends all of them, as after a leak. A key that is the
  /// newest already changes nothing, so that a repeated request does no harm.
  ///
  /// - Parameters:
  ///   - overlap: milliseconds that the old keys sign on.
  ///   - now: milliseconds since 1970.
  /// - Returns: whether it was done: with ``maxOldSecrets`` that still sign there is no room.
  public mutating func rotate(to key: [UInt8], overlap: Int64, now: Int64) -> Bool {
    if secrets.first?.key == key { return true }
    // A key that comes back is the newest again, not an old one besides.
    let old = secrets.filter { $0.key != key }.compactMap { secret -> Secret? in
      let end = min(secret.expiresAt ?? .max, now + overlap)
      return now < end ? Secret(key: secret.key, expiresAt: end) : nil
    }
    guard old.count <= Self.maxOldSecrets else { return false }
    secrets = [Secret(key: key)] + old
    return true
  }
}
