import JSON

/// The body of a request to a notification URL: `{"signedPayload": "eyJ…"}`, or version 1's object.
///
/// One URL may get both, because each app chooses its version in App Store Connect.
public enum PostedNotification: Hashable, Sendable {
  /// Version 2. Give the text to ``SignedDataVerifier/notification(_:expecting:)``.
  case version2(signedPayload: String)
  /// Version 1, which proves nothing.
  case version1(NotificationV1)

  /// A longer body is refused. A notification with its nested texts has about 20 KiB.
  public static let maxLength = JSONWebSignature.maxLength

  private struct Version2: Decodable { var signedPayload: String? }

  /// Reads a body.
  ///
  /// - Throws: when it is of neither version.
  public init(_ body: [UInt8]) throws(Rejection) {
    guard body.count <= Self.maxLength else { throw Rejection(.malformed, "longer than \(Self.maxLength) bytes") }
    guard let json = try? JSONText(body), let version2 = try? json.decoded(as: Version2.self) else {
      throw Rejection(.malformed, "the body is not a JSON object of a notification")
    }
    if let signedPayload = version2.signedPayload {
      self = .version2(signedPayload: signedPayload)
    } else {
      self = .version1(try NotificationV1(json))
    }
  }
}
