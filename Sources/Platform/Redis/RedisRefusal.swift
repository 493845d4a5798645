/// Why a Redis that answers takes no writes.
public enum RedisRefusal: String, Sendable, CaseIterable {
  /// It is a replica. Its address may lead to the new primary after the next look-up.
  case readOnly = "READONLY"
  /// It has used all the memory that it may use.
  case outOfMemory = "OOM"
  /// It cannot write to its disk.
  case misconfigured = "MISCONF"
  /// It has fewer replicas than `min-replicas-to-write` demands.
  case tooFewReplicas = "NOREPLICAS"

  /// Reads the text of an error; `nil` for any other error.
  ///
  /// Redis 7 begins the text with the code, even if a script ran into the error. Redis 6 puts the code of a script's
  /// error behind the place: `ERR Error running script (call to f_…): @user_script:1: @user_script: 1: -OOM command …`.
  public init?(_ text: String) {
    let words = text.split(separator: " ")
    let isOfScript = text.hasPrefix("ERR Error running script")
    let found = Self.allCases.first { refusal in
      isOfScript
        ? words.contains { $0.first == "-" && $0.dropFirst() == refusal.rawValue }
        : words.first.map { $0 == refusal.rawValue } ?? false
    }
    guard let found else { return nil }
    self = found
  }
}

extension RedisError {
  /// Why Redis takes no writes, if the error says so.
  public var refusal: RedisRefusal? { RedisRefusal(cause) }
}
