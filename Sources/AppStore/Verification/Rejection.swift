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

    /// Not a compact JWS with JSON objects in it, or a field has the wrong type.
    public static let malformed = Reason(rawValue: "malformed")
    /// The header asks for another algorithm than ES256, or for an extension that must be understood.
    public static let algorithmNotAllowed = Reason(rawValue: "algorithm_not_allowed")
    /// The header does not carry exactly three certificates.
    public static let chainLengthInvalid = Reason(rawValue: "chain_length_invalid")
    /// The leaf or the intermediate is not a certificate, or the leaf's key is not on P-256.
    public static let certificateInvalid = Reason(rawValue: "certificate_invalid")
    /// The leaf's key did not sign this.
    public static let signatureInvalid = Reason(rawValue: "signature_invalid")
    /// There is no date to judge the chain by.
    public static let dateMissing = Reason(rawValue: "date_missing")
    /// The chain does not end at a pinned root, or was not valid at the date of signing.
    public static let chainUntrusted = Reason(rawValue: "chain_untrusted")
    /// A certificate of the chain is not one that Apple made for signing purchases.
    public static let markerOIDMissing = Reason(rawValue: "marker_oid_missing")
    /// Another kind of signed data than the caller asked for.
    public static let kindMismatch = Reason(rawValue: "kind_mismatch")
    /// The app is not one that is accepted.
    public static let bundleIdMismatch = Reason(rawValue: "bundle_id_mismatch")
    /// Apple's id of the app is missing, not the configured one, or not configured.
    public static let appAppleIdMismatch = Reason(rawValue: "app_apple_id_mismatch")
    /// The app is not accepted in this environment.
    public static let environmentMismatch = Reason(rawValue: "environment_mismatch")
    /// A receipt was made for another device than the caller asked for.
    public static let deviceMismatch = Reason(rawValue: "device_mismatch")
    /// A transaction receipt of iOS 6 or earlier, which nobody but Apple's server can verify.
    public static let transactionReceipt = Reason(rawValue: "transaction_receipt")
    /// Renewal information or nested data belongs to something else.
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
  /// The reason for people; it may quote names, never ids of a customer.
  public let text: String

  /// Creates a rejection.
  public init(_ reason: Reason, _ text: String) {
    self.reason = reason
    // One line, whatever names the text quotes: it goes to logs and terminals.
    self.text = String(
      String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }

  public var description: String { "\(reason.rawValue): \(text)" }
}
