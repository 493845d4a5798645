import Crypto
import Domain
import HTTP
import Testing

@testable import AppStore
@testable import Worker

/// The meaning of a call without data, branch by branch.
struct CallFailureTests {
  private let key: P256PrivateKey

  init() throws { key = try .generate() }

  private func failure(
    _ kind: AppStoreAPIError.Kind, in environment: Environment = .production,
    of environments: [Environment] = ["Production", "Sandbox"], isReleased: Bool = true, hasAnswer: Bool = false,
    isAccepted: Bool = false
  ) -> CallFailure {
    CallFailure.of(
      kind, in: environment,
      for: Publisher.App(
        bundleId: "a", appAppleId: nil, issuerId: "i", keyId: "k", privateKey: key, environments: environments,
        isReleased: isReleased),
      hasAnswer: hasAnswer, isAccepted: isAccepted)
  }

  @Test func `only of an app that is not released production's 401 says that it is unknown`() {
    #expect(failure(.unauthorized) == .keyRefused)
    #expect(failure(.unauthorized, isReleased: false) == .unknownHere)
    #expect(failure(.unauthorized, of: ["Production"], isReleased: false) == .keyRefused)
    #expect(failure(.unauthorized, in: .sandbox, isReleased: false) == .keyRefused)
    #expect(failure(.unauthorized, in: .sandbox) == .keyRefused)
    // Apple accepted the key a moment ago.
    for isReleased in [true, false] {
      #expect(failure(.unauthorized, isReleased: isReleased, hasAnswer: true) == .failed(.unauthorized))
    }
  }

  @Test func `of Apple's codes four say that the transaction is unknown`() {
    let unknown: [AppStoreErrorCode] = [
      .transactionIdNotFound, .originalTransactionIdNotFound, .invalidTransactionId, .invalidOriginalTransactionId,
    ]
    for code in unknown { #expect(failure(.api(code), isAccepted: true) == .unknownHere) }
    // Only with a key that Apple takes it is certain that this one is about the id.
    #expect(failure(.api(.invalidTransactionId)) == .doubtful)
    for isAccepted in [true, false] {
      #expect(failure(.api(.invalidAppIdentifier), isAccepted: isAccepted) == .keyRefused)
    }
    for code: AppStoreErrorCode in [
      .generalInternal, .accountNotFoundRetryable, .originalTransactionIdNotFoundRetryable,
      AppStoreErrorCode(rawValue: 9_999_999),
    ] {
      #expect(failure(.api(code)) == .failed(.appleError))
    }
  }

  @Test func `everything else is tried again`() {
    #expect(failure(.rateLimited(retryAfterMilliseconds: 5)) == .rateLimited(until: 5))
    #expect(failure(.rateLimited(retryAfterMilliseconds: nil)) == .rateLimited(until: nil))
    #expect(failure(.http(404)) == .failed(.appleError))
    #expect(failure(.malformedAnswer) == .failed(.malformedAnswer))
    #expect(failure(.invalidRequest("")) == .failed(.appleError))
    func transport(_ code: HTTPClientError.Code) -> CallFailure {
      failure(.transport(HTTPClientError(code: code, target: "", cause: "")))
    }
    #expect(transport(.timeout) == .failed(.timeout))
    #expect(transport(.responseTooLarge) == .failed(.malformedAnswer))
    for code: HTTPClientError.Code in [.unreachable, .forbiddenAddress, .interrupted, .cancelled] {
      #expect(transport(code) == .failed(.network))
    }
  }

  /// A certificate that is not trusted is no quiet `network`: it fails every call until somebody mends it.
  @Test func `TLS that is refused has a cause of its own and is an error`() {
    func transport(_ code: HTTPClientError.Code) -> AppStoreAPIError.Kind {
      .transport(HTTPClientError(code: code, target: "", cause: ""))
    }
    #expect(failure(transport(.tls)) == .failed(.tls))
    #expect(CallFailure.needsSomebody(transport(.tls)))
    for kind in [transport(.unreachable), transport(.timeout), .unauthorized, .http(500), .malformedAnswer] {
      #expect(!CallFailure.needsSomebody(kind))
    }
  }
}
