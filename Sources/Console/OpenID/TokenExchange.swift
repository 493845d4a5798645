import Configuration
import Crypto
import Formats
import HTTP
import JSON

/// The call that turns the code that a browser has brought into an id token (RFC 6749, section 4.1.3).
struct TokenExchange {
  /// The id token's text, or why there is none.
  enum Answer: Sendable, Equatable {
    case token(String)
    /// The provider does not take the code: it is old, was used, or is not for this browser.
    case codeRefused
    /// Anything else is a matter for who runs the console or the provider.
    case failed(String)
  }

  static let mostBytes = 128 << 10

  /// The request. The secret travels in a header, or in the form if the provider takes no header.
  ///
  /// - Parameter secret: `nil` for a public client.
  static func request(
    _ code: String, _ attempt: OpenIDAttempt, _ provider: ProviderDescription, _ settings: OpenIDSettings,
    _ secret: String?
  ) -> HTTPClientRequest {
    var fields = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", settings.returnURL),
      ("code_verifier", attempt.verifier),
    ]
    var headers = [
      (name: "Content-Type", value: "application/x-www-form-urlencoded"), (name: "Accept", value: "application/json"),
    ]
    if let secret, provider.secretIn == .header {
      // Both are encoded before, because an id may have a colon (RFC 6749, section 2.3.1).
      let pair = "\(PercentCoding.encoded(settings.clientId)):\(PercentCoding.encoded(secret))"
      headers.append((name: "Authorization", value: "Basic " + Base64.encode(Array(pair.utf8))))
    } else {
      fields.append(("client_id", settings.clientId))
      if let secret { fields.append(("client_secret", secret)) }
    }
    return HTTPClientRequest(
      "POST", provider.tokenURL, headers: headers, body: Array(FormText.of(fields).utf8), timeout: .seconds(5),
      maxResponseBytes: mostBytes)
  }

  /// Reads the answer.
  static func answer(_ response: HTTPClientResponse) -> Answer {
    let value = try? JSONText(response.body, limits: .answers).decoded(as: JSONValue.self)
    let claims =
      if case .object(let members)? = value { OpenIDClaims(members: members) } else { OpenIDClaims(members: [:]) }
    guard response.status == 200 else {
      let error = claims.text("error").flatMap(errorCode)
      if response.status == 400, error == "invalid_grant" { return .codeRefused }
      return .failed("HTTP \(response.status)" + (error.map { ", error \($0)" } ?? ""))
    }
    guard let token = claims.text("id_token") else { return .failed("HTTP 200 without an id_token") }
    return .token(token)
  }

  /// An error's code as the standards write them; `nil` for any other text, which a stranger may have written.
  static func errorCode(_ text: String) -> String? {
    let isCode = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == 0x5f }
    return isCode ? text : nil
  }
}
