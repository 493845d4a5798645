public import Domain

/// A signed download of the app, with the fields of `AppTransaction`.
public struct AppTransactionPayload: Hashable, Sendable, Codable {
  /// The environment of the download.
  public var receiptType: Environment?
  /// Apple's id of the app; only in production.
  public var appAppleId: Int64?
  /// The app.
  public var bundleId: BundleId?
  /// The version that runs.
  public var applicationVersion: String?
  /// Apple's number for that version.
  public var versionExternalIdentifier: Int64?
  /// When Apple signed, in milliseconds since 1970.
  public var receiptCreationDate: Int64?
  /// When the customer first got the app, in milliseconds since 1970.
  public var originalPurchaseDate: Int64?
  /// The first version that the customer got.
  public var originalApplicationVersion: String?
  /// A hash over the device, base64.
  public var deviceVerification: String?
  /// The UUID in that hash.
  public var deviceVerificationNonce: String?
  /// When the customer ordered ahead, in milliseconds since 1970.
  public var preorderDate: Int64?
  /// The id of the download, the same for one customer and app.
  public var appTransactionId: AppTransactionId?
  /// `iOS`, `macOS`, `tvOS` or `visionOS`.
  public var originalPlatform: String?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}
