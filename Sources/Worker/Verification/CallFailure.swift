import AppStore
import Domain
import HTTP

/// The meaning of a call without data for the attempt.
enum CallFailure: Equatable {
  /// Apple does not know the transaction in this place. The next place is asked.
  case unknownHere
  /// Apple refused the key of this app. Another app may know the transaction, but "not found" is no answer any more.
  case keyRefused
  /// Apple calls the id invalid. It says so too when the app or its bundle is not the key's. A call without an id tells
  /// the two apart.
  case doubtful
  /// Apple allows the next call at a time, in milliseconds since 1970; `nil` when it names none.
  case rateLimited(until: Int64?)
  /// The attempt ends.
  case failed(RetryCause)

  /// Decides the meaning of an error.
  ///
  /// Production answers 401 about an app that was never released, and about every app whose key is wrong. Only the
  /// publisher can tell the two apart. So the 401 means "ask the sandbox" for an app that is marked as not released.
  /// For any other app it is a mistake that an operator must mend: "not found" in the sandbox would hide it for good.
  ///
  /// - Parameters:
  ///   - hasAnswer: whether the same key was right for the other endpoint a moment ago.
  ///   - app: the app that the call was for.
  ///   - isAccepted: whether Apple has taken the key a moment ago.
  static func of(
    _ kind: AppStoreAPIError.Kind, in environment: Environment, for app: Publisher.App, hasAnswer: Bool,
    isAccepted: Bool = false
  ) -> CallFailure {
    switch kind {
    case .unauthorized where hasAnswer: .failed(.unauthorized)
    case .unauthorized:
      !app.isReleased && environment == .production && app.environments.contains(.sandbox) ? .unknownHere : .keyRefused
    case .api(.invalidAppIdentifier): .keyRefused
    case .api(.invalidTransactionId) where !isAccepted: .doubtful
    case .api(let code): unknown.contains(code) ? .unknownHere : .failed(.appleError)
    case .rateLimited(let time): .rateLimited(until: time)
    case .transport(let error):
      switch error.code {
      case .timeout: .failed(.timeout)
      case .tls: .failed(.tls)
      case .responseTooLarge: .failed(.malformedAnswer)
      default: .failed(.network)
      }
    case .malformedAnswer: .failed(.malformedAnswer)
    case .http, .invalidRequest: .failed(.appleError)
    }
  }

  /// Decides the meaning of ``doubtful`` by a call without an id.
  ///
  /// - Parameter kind: the failure of that call; `nil` if it succeeded.
  static func resolving(_ kind: AppStoreAPIError.Kind?) -> CallFailure {
    switch kind {
    case nil: .unknownHere
    case .unauthorized: .keyRefused
    case .api(let code) where refusals.contains(code): .keyRefused
    case .rateLimited: .failed(.rateLimited)
    case .transport(let error): error.code == .timeout ? .failed(.timeout) : .failed(.network)
    case .malformedAnswer: .failed(.malformedAnswer)
    case .api, .http, .invalidRequest: .failed(.appleError)
    }
  }

  /// The codes by which Apple says that the app or its bundle is not the key's, to a call without an id.
  private static let refusals: Set<AppStoreErrorCode> = [.invalidAppIdentifier, .invalidTransactionId, .appNotFound]

  /// Whether Apple took the key of a call that failed.
  static func provesKey(_ kind: AppStoreAPIError.Kind) -> Bool {
    if case .api(let code) = kind {
      [.transactionIdNotFound, .originalTransactionIdNotFound].contains(code)
    } else {
      false
    }
  }

  /// Whether an operator must look at the configuration or at the network. An untrusted certificate, for example, does
  /// not become trusted by itself.
  static func needsSomebody(_ kind: AppStoreAPIError.Kind) -> Bool {
    if case .transport(let error) = kind { error.code == .tls } else { false }
  }

  /// The codes by which Apple says that it does not know an id.
  static let unknown: Set<AppStoreErrorCode> = [
    .transactionIdNotFound, .originalTransactionIdNotFound, .invalidTransactionId, .invalidOriginalTransactionId,
  ]
}
