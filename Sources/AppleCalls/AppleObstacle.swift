import AppStore
public import Domain
import Formats

/// Why Apple cannot tell now.
public enum AppleObstacle: Sendable, Equatable {
  /// The budget has no call left, or Apple wants no call. The next one may come after this long.
  case busy(Duration)
  /// Apple did not answer, or not with what it knows.
  case away(BundleId)
  /// Apple refuses the key of the app. A person must mend it.
  case keyRefused(BundleId)
  /// Apple's answer cannot be verified, does not have the form that Apple documents, or does not settle the question.
  case unverified(BundleId)

  /// Decides what a failed call means that does not tell what Apple knows.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func of(_ kind: AppStoreAPIError.Kind, for app: BundleId, now: Int64) -> AppleObstacle {
    switch kind {
    case .unauthorized, .api(.invalidAppIdentifier), .api(.appNotFound): .keyRefused(app)
    case .rateLimited(let time): .busy(.milliseconds(max(1, (time ?? now.adding(1000)).subtracting(now))))
    case .malformedAnswer: .unverified(app)
    case .api, .http, .transport, .invalidRequest: .away(app)
    }
  }
}

/// Why an answer of Apple's tells nothing.
struct AnswerDefect: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
