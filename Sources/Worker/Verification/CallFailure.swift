import AppStore
import Domain
import HTTP

/// The meaning of a call without data for the attempt.
enum CallFailure: Equatable {
  /// Apple does not know the transaction in this place. The next place is asked.
  case unknownHere
  /// Apple refused the key of this app. Another app may know the transaction, but "not found" is no answer any more.
  case keyRefused
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
  static func of(
    _ kind: AppStoreAPIError.Kind, in environment: AppStoreEnvironment, for app: Publisher.App, hasAnswer: Bool
  ) -> CallFailure {
    switch kind {
    case .unauthorized where hasAnswer: .failed(.unauthorized)
    case .unauthorized:
      !app.isReleased && environment == .production && app.environments.contains("Sandbox") ? .unknownHere : .keyRefused
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
