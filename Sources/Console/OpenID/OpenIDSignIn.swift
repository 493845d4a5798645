import Configuration
import Domain
import EventLoop
import Formats
import JSON
import Ledger
import Observability
import Service

/// Signs people in with their accounts at the provider.
@LoopActor
final class OpenIDSignIn {
  /// Each end of a sign-in asks the provider, which others need too.
  nonisolated static let lineOfEnds = ConsoleTurns.Limits(atOnce: 8, waiting: 32, ofOwner: 8)

  let settings: OpenIDSettings
  private let context: RoleContext
  private let people: PeopleFile
  private let signIn: SignIn
  private let provider: OpenIDProvider
  private let line = ConsoleLine(OpenIDSignIn.lineOfEnds)

  init(_ context: RoleContext, _ people: PeopleFile, _ signIn: SignIn, _ provider: OpenIDProvider) {
    (self.context, self.people, self.signIn, self.provider) = (context, people, signIn, provider)
    settings = provider.settings
  }

  /// What becomes of a sign-in.
  enum Answer: Sendable, Equatable {
    /// With the token of the session.
    case signedIn(String)
    case refused(OpenIDRoles.Refusal)
    /// The provider has not let the person in, or does not take the code any more.
    case notAtProvider
    /// The provider, or what it says, is of no use. The log has the cause.
    case failed
    case tooOften
    case busy

    /// For metrics.
    nonisolated var label: String {
      switch self {
      case .signedIn: "signedIn"
      case .refused: "refused"
      case .notAtProvider: "notAtProvider"
      case .failed: "failed"
      case .tooOften: "tooOften"
      case .busy: "busy"
      }
    }
    nonisolated static let labels = ["signedIn", "refused", "notAtProvider", "failed", "tooOften", "busy"]
  }

  /// Returns where an attempt goes on at the provider; `nil` if the provider is of no use.
  func address(for attempt: OpenIDAttempt) async -> String? {
    // The provider's first failure is in the log. Anybody may ask for this address, and must not fill the log.
    try? await provider.description().address(for: attempt, settings)
  }

  /// Ends an attempt, with what the browser has brought back.
  ///
  /// - Throws: `RedisError`, `PostgresError`, `CryptoError`.
  func end(_ attempt: OpenIDAttempt, _ returned: OpenIDReturn, from address: String) async throws -> Answer {
    guard line.hasRoom(for: address) else { return .busy }
    guard try await signIn.admits(address) else { return .tooOften }
    return try await line.run(of: address) { try await end(attempt, returned) } ?? .busy
  }

  private func end(_ attempt: OpenIDAttempt, _ returned: OpenIDReturn) async throws -> Answer {
    let claims: OpenIDClaims
    do {
      let description = try await provider.description()
      guard returned.isFrom(settings.issuer, always: description.namesItself) else {
        return fail("the answer names another provider")
      }
      guard let code = returned.code else {
        context.log.info("openid sign-in ended at the provider", ["error": .string(returned.error ?? "none")])
        return .notAtProvider
      }
      switch await provider.exchange(code, attempt, description) {
      case .codeRefused: return .notAtProvider
      case .failed(let cause): return fail("the provider's token: \(cause)")
      case .token(let text):
        let token = try IDToken(text)
        claims = try token.verified(
          by: try await provider.keys(description, for: token),
          for: IDToken.Expected(
            issuer: settings.issuer, clientId: settings.clientId, nonce: attempt.nonce,
            algorithms: description.algorithms, now: context.now() / 1000))
      }
    } catch {
      return fail("\(error)")
    }
    do {
      let person = try (people.roles ?? OpenIDRoles("")).person(claims, settings, beside: people.people)
      return switch try await signIn.begin(person) {
      case .signedIn(let token): .signedIn(token)
      case .tooOften, .refused: .tooOften
      case .busy: .busy
      }
    } catch let refusal as OpenIDRoles.Refusal {
      try await signIn.refuse(Self.entry(refusal))
      return .refused(refusal)
    }
  }

  private func fail(_ cause: String) -> Answer {
    context.log.warning("openid sign-in failed", ["cause": .string(cause)])
    return .failed
  }

  /// The entry of a refusal. The provider has checked the name, so it is no password.
  nonisolated static func entry(_ refusal: OpenIDRoles.Refusal) -> AuditEntry {
    let detail = JSONWriter.object {
      $0.member("with", "openId")
      $0.member("reason", refusal.label)
    }
    guard let name = refusal.name else {
      return AuditEntry(publisherId: 0, actor: .operator, action: "console.refused", subject: "console", detail: detail)
    }
    return AuditEntry(
      publisherId: 0, operator: name, action: "console.refused", subject: "console", detail: detail)
  }
}

/// What a browser brings back from the provider (RFC 6749, section 4.1.2).
struct OpenIDReturn: Sendable, Equatable {
  /// `nil` if the provider has not let the person in.
  let code: String?
  /// The provider's reason, if it is written as the standards write one.
  let error: String?
  private let issuer: String?

  /// The most bytes of a code. Some providers put a whole token there.
  static let longestCode = 4096

  /// Reads the query of the address; `nil` if it is no answer to this attempt. Each field stands there once.
  init?(_ query: [(name: String, value: String)], to attempt: OpenIDAttempt) {
    func field(_ name: String) -> [String] { query.filter { $0.name.isExactly(name) }.map(\.value) }
    let (states, codes, errors, issuers) = (field("state"), field("code"), field("error"), field("iss"))
    guard states.count == 1, states[0].isExactly(attempt.state), codes.count + errors.count == 1,
      issuers.count <= 1, codes.allSatisfy({ (1...Self.longestCode).contains($0.utf8.count) })
    else { return nil }
    (code, issuer) = (codes.first, issuers.first)
    error = errors.first.flatMap(TokenExchange.errorCode)
  }

  /// Whether it may come from the provider (RFC 9207).
  ///
  /// - Parameter always: whether the provider names itself in each answer.
  func isFrom(_ provider: String, always: Bool) -> Bool {
    issuer.map(provider.isExactly) ?? !always
  }
}
