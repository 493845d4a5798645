import FoundationEssentials
public import HTTP
import JSON

/// A call that did not succeed.
///
/// The details are a reference, because every suspended function that may pass the error on has room for it.
public struct AppStoreAPIError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Kind: Sendable {
    /// Apple answered with an error code, possibly one that this version does not know.
    case api(AppStoreErrorCode)
    /// An error status without a code, for example from a proxy in between.
    case http(Int)
    /// Status 401, which has no code: a wrong key or clock, or production before the app's first release.
    case unauthorized
    /// Too many calls. If Apple said when the next call may be made, the time is in milliseconds since 1970.
    case rateLimited(retryAfterMilliseconds: Int64?)
    /// There was no complete answer.
    case transport(HTTPClientError)
    /// A success whose body does not have the form that Apple documents.
    case malformedAnswer
    /// The API did not make the call, for example because Apple cannot have given the id.
    case invalidRequest(String)
  }

  private final class Details: Sendable {
    let kind: Kind
    let endpoint: AppStoreEndpoint
    let message: String?
    let correlation: AppleCorrelation

    init(_ kind: Kind, _ endpoint: AppStoreEndpoint, _ message: String?, _ correlation: AppleCorrelation) {
      (self.kind, self.endpoint, self.message, self.correlation) = (kind, endpoint, message, correlation)
    }
  }

  private let details: Details

  /// The kind of failure.
  public var kind: Kind { details.kind }
  /// The call.
  public var endpoint: AppStoreEndpoint { details.endpoint }
  /// Apple's text.
  public var message: String? { details.message }
  /// The ids that Apple gave to the call.
  public var correlation: AppleCorrelation { details.correlation }

  /// Creates an error.
  public init(
    _ kind: Kind, endpoint: AppStoreEndpoint, message: String? = nil,
    correlation: AppleCorrelation = AppleCorrelation()
  ) {
    details = Details(kind, endpoint, message, correlation)
  }

  private struct Body: Decodable {
    var errorCode: AppStoreErrorCode
    var errorMessage: String?
  }

  /// Reads an answer that is not a success.
  init(_ response: HTTPClientResponse, endpoint: AppStoreEndpoint, now: Int64) {
    // The content type does not matter: a body that parses as Apple's error is Apple's error.
    let body = try? JSONText(response.body, limits: .answers).decoded(as: Body.self)
    let kind: Kind
    if response.status == 429 || body?.errorCode == .rateLimitExceeded {
      let wait = response.header("retry-after").flatMap { AppleRetryAfter.milliseconds($0, now: now) }
      kind = .rateLimited(retryAfterMilliseconds: wait)
    } else if response.status == 401 {
      kind = .unauthorized
    } else if let body {
      kind = .api(body.errorCode)
    } else {
      kind = .http(response.status)
    }
    self.init(
      kind, endpoint: endpoint, message: body?.errorMessage, correlation: AppleCorrelation(response))
  }

  /// The code, if Apple gave one.
  public var code: AppStoreErrorCode? {
    if case .api(let code) = kind { code } else { nil }
  }

  /// The failure as a metric's label: a small closed set.
  public var label: String {
    switch kind {
    case .api(let code): code.name ?? "unknown_code"
    case .http(let status): "http_\(status / 100)xx"
    case .unauthorized: "unauthorized"
    case .rateLimited: "rate_limited"
    case .transport(let error): error.code.rawValue
    case .malformedAnswer: "malformed_answer"
    case .invalidRequest: "invalid_request"
    }
  }

  public var description: String {
    let cause =
      switch kind {
      case .api(let code): "\(code)\(message.map { ": \($0)" } ?? "")"
      case .http(let status): "HTTP status \(status)"
      case .unauthorized: "not authorized"
      case .rateLimited(let time): "rate limited\(time.map { " until \($0)" } ?? "")"
      case .transport(let error): "\(error)"
      case .malformedAnswer: "the answer is malformed"
      case .invalidRequest(let text): text
      }
    return "\(endpoint.rawValue): \(cause)"
  }
}
