import JSON

/// The body of a request to a notification URL: `{"signedPayload": "eyJ…"}`, or version 1's object.
///
/// One URL may get both, because each app chooses its version in App Store Connect.
public enum PostedNotification: Sendable {
  /// Version 2. Give the text to ``SignedDataVerifier/notification(_:expecting:)``.
  case version2(signedPayload: String)
  /// Version 1, which proves nothing. Only its shared secret has been read.
  case version1(SealedNotificationV1)

  /// A longer body is refused. A notification with its nested texts has about 20 KiB.
  public static let maxLength = JSONWebSignature.maxLength

  /// Reads a body. Nobody knows its sender yet, so nothing but one text of it is decoded.
  ///
  /// - Throws: when it is of neither version.
  public init(_ body: [UInt8]) throws(Rejection) {
    guard body.count <= Self.maxLength else { throw Rejection(.malformed, "longer than \(Self.maxLength) bytes") }
    let json: JSONText
    let signedPayload: String?
    do {
      json = try JSONText(body, limits: .notification)
      signedPayload = try JSONObject(json).string("signedPayload")
    } catch {
      let excess = (error as? JSONSyntaxError)?.excess.map { ": \($0)" } ?? ""
      throw Rejection(.malformed, "the body is not a JSON object of a notification\(excess)")
    }
    if let signedPayload {
      self = .version2(signedPayload: signedPayload)
    } else {
      self = .version1(try SealedNotificationV1(json))
    }
  }
}
