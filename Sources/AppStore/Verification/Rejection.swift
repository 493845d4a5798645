public import Formats

/// Why signed data is not accepted.
public struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
  /// A short name for machines; an open set.
  public struct Reason: ExactRawValue, Sendable {
    public let rawValue: String

    /// Creates a reason.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The text is not a compact JWS with JSON objects in it, or a field has the wrong type.
    public static let malformed = Reason(rawValue: "malformed")
    /// The header asks for another algorithm than ES256, or for an extension that must be understood.
    public static let algorithmNotAllowed = Reason(rawValue: "algorithm_not_allowed")
    /// The header does not carry exactly three certificates.
    public static let chainLengthInvalid = Reason(rawValue: "chain_length_invalid")
    /// The leaf or the intermediate is not a certificate, or the leaf's key is not on P-256.
    public static let certificateInvalid = Reason(rawValue: "certificate_invalid")
    /// The leaf's key did not make the signature.
    public static let signatureInvalid = Reason(rawValue: "signature_invalid")
    /// There is no date to judge the chain by.
    public static let dateMissing = Reason(rawValue: "date_missing")
    /// The chain does not end at a pinned root, or it was not valid at the date of signing.
    public static let chainUntrusted = Reason(rawValue: "chain_untrusted")
    /// Apple did not make a certificate of the chain for signing purchases.
    public static let markerOIDMissing = Reason(rawValue: "marker_oid_missing")
    /// The data is of another kind than the caller asked for.
    public static let kindMismatch = Reason(rawValue: "kind_mismatch")
    /// The caller does not accept the app.
    public static let bundleIdMismatch = Reason(rawValue: "bundle_id_mismatch")
    /// Apple's id of the app is missing, is not the configured id, or is not configured.
    public static let appAppleIdMismatch = Reason(rawValue: "app_apple_id_mismatch")
    /// The caller does not accept the app in this environment.
    public static let environmentMismatch = Reason(rawValue: "environment_mismatch")
    /// The receipt was made for another device than the caller asked for.
    public static let deviceMismatch = Reason(rawValue: "device_mismatch")
    /// A transaction receipt of iOS 6 or earlier. Only Apple's server can verify it.
    public static let transactionReceipt = Reason(rawValue: "transaction_receipt")
    /// The renewal information or the nested data belongs to another purchase or app.
    public static let unrelated = Reason(rawValue: "unrelated")

    /// Every reason that this version gives.
    public static let known: [Reason] = [
      .malformed, .algorithmNotAllowed, .chainLengthInvalid, .certificateInvalid, .signatureInvalid, .dateMissing,
      .chainUntrusted, .markerOIDMissing, .kindMismatch, .bundleIdMismatch, .appAppleIdMismatch, .environmentMismatch,
      .deviceMismatch, .transactionReceipt, .unrelated,
    ]
  }

  /// The reason for machines.
  public let reason: Reason
  /// The reason for people. It may quote names, but never ids of a customer.
  public let text: String

  /// Creates a rejection.
  public init(_ reason: Reason, _ text: String) {
    self.reason = reason
    // The text is one line, even if a name in it has line breaks: it goes to logs and terminals.
    // It has an end too, although a name in it may have none.
    self.text = String(
      String.UnicodeScalarView(
        text.unicodeScalars.prefix(Self.longestText).map { $0.isControl ? "?" : $0 }))
  }

  /// The most characters of a text.
  static let longestText = 500

  /// Whether a publisher's file may be what is wrong: it does not list the app like this. All other data stays refused,
  /// however often it comes.
  public var dependsOnFile: Bool {
    [.bundleIdMismatch, .appAppleIdMismatch, .environmentMismatch].contains(reason)
  }

  public var description: String { "\(reason.rawValue): \(text)" }
}
