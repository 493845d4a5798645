import Domain

/// Why a synchronization waits, as a filter of their list has it.
enum SynchronizationReason: Equatable, Sendable {
  /// It has a worker, or gets one at once.
  case running
  /// Redis does not know it: a sweep finds it in the ledger.
  case lost
  case retried(RetryCause)

  /// All, in the order of a choice.
  static let all = [SynchronizationReason.running, .lost] + RetryCause.allCases.map { .retried($0) }

  /// As an address has it, such as `rate_limited`.
  var text: String {
    switch self {
    case .running: "running"
    case .lost: "lost"
    case .retried(let cause): cause.rawValue
    }
  }

  /// Reads ``text``; `nil` for any other text.
  init?(_ text: String) {
    guard let reason = Self.all.first(where: { $0.text.utf8.elementsEqual(text.utf8) }) else { return nil }
    self = reason
  }

  /// For people.
  var words: String {
    switch self {
    case .running: "it waits for a worker, or runs"
    case .lost: "the next sweep finds it"
    case .retried(let cause): cause.words
    }
  }

  /// The cause of its retries; `nil` if it is not retried.
  var cause: RetryCause? { if case .retried(let cause) = self { cause } else { nil } }

  /// Whether a synchronization waits for this reason.
  func matches(_ progress: SynchronizationProgress) -> Bool {
    switch self {
    case .running: progress.status == .processing
    case .lost: progress.status == nil
    case .retried(let cause): progress.status == .retrying && progress.cause == cause
    }
  }
}
