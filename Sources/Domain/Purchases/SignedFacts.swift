/// Facts that Apple signed at a time.
protocol SignedFacts {
  var signedDate: Int64 { get }
  var payloadSHA256: [UInt8] { get }
}

extension SignedFacts {
  /// Whether these facts count rather than others about the same thing. The later date counts. On equal dates the
  /// greater digest of the payload counts, so that every reader of the same evidence chooses the same facts.
  func isNewer(than other: Self) -> Bool {
    if signedDate != other.signedDate { return signedDate > other.signedDate }
    return other.payloadSHA256.lexicographicallyPrecedes(payloadSHA256)
  }
}
