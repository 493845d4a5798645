import HTTP

/// A successful answer.
public final class AppStoreAnswer<Body: Sendable>: Sendable {
  /// The decoded body. Nobody has verified the signed texts in it yet.
  public let body: Body
  /// The ids by which Apple's support finds the call.
  public let correlation: AppleCorrelation

  init(body: Body, correlation: AppleCorrelation = AppleCorrelation()) {
    self.body = body
    self.correlation = correlation
  }
}

/// The ids that Apple gives to a call. Log them, since Apple's support asks for them.
public struct AppleCorrelation: Hashable, Sendable {
  /// `x-apple-jingle-correlation-key`.
  public let jingleCorrelationKey: String?
  /// `x-apple-request-uuid`.
  public let requestUUID: String?

  /// Both ids as one text, for a log.
  public var label: String { [requestUUID, jingleCorrelationKey].compactMap(\.self).joined(separator: " ") }

  /// Creates a pair of ids.
  public init(jingleCorrelationKey: String? = nil, requestUUID: String? = nil) {
    self.jingleCorrelationKey = jingleCorrelationKey
    self.requestUUID = requestUUID
  }

  init(_ response: HTTPClientResponse) {
    jingleCorrelationKey = response.header("x-apple-jingle-correlation-key")
    requestUUID = response.header("x-apple-request-uuid")
  }
}
