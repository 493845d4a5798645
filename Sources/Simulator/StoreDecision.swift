/// How the simulator treats a call. It is only decided here; the service carries it out.
struct StoreDecision: Equatable, Sendable {
  /// The answer to a call.
  enum Answer: Equatable, Sendable {
    /// The purchase, in the form of the endpoint.
    case purchase(StorePurchase, Seal)
    /// 200 with JSON that is ready.
    case body([UInt8])
    /// 202 without a body.
    case accepted
    /// An error with Apple's body.
    case failure(StoreFailure)
    /// 401 without JSON.
    case unauthorized
    /// 200 without JSON.
    case garbage
    /// 200 with far too much JSON.
    case oversized
  }

  /// How payloads are signed.
  enum Seal: String, Equatable, Sendable {
    case genuine
    /// The payload is changed after its signature.
    case tampered
    /// Signed under another root with the same names.
    case foreignRoot
    /// Signed under the right root, by certificates without the marker extensions.
    case unmarked
  }

  var answer: Answer
  var delay: Duration = .zero
  /// The simulator resets the connection after half the body.
  var isCutOff = false
  /// Whether the purchase is the one that the scenario alone gives, so that a kept answer may serve.
  var isUsual = true

  /// Takes an answer that does not come from a scenario.
  init(_ answer: Answer) {
    self.answer = answer
    isUsual = false
  }

  /// Decides by the scenario of the transaction.
  init(_ question: StoreQuestion) {
    let isProduction = question.environment == .production
    let isFirst = question.earlierCalls == 0
    switch question.scenario {
    case .notFound: answer = .failure(.transactionIdNotFound)
    case .sandboxOnly where isProduction: answer = .failure(.transactionIdNotFound)
    case .unauthorizedInProduction where isProduction: answer = .unauthorized
    case .wrongApp: answer = .failure(.invalidAppIdentifier)
    case .invalidId: answer = .failure(.invalidTransactionId)
    case .rateLimitedOnce where isFirst: answer = .failure(.rateLimited(until: question.now + 1000))
    case .failingOnce where isFirst: answer = .failure(.generalRetryable)
    case .failing: answer = .failure(.general)
    case .garbage: answer = .garbage
    case .oversized: answer = .oversized
    default: answer = .purchase(StorePurchase(question), question.scenario.seal)
    }
    if question.scenario == .slow { delay = .seconds(3) }
    isCutOff = question.scenario == .interruptedTwice && question.earlierCalls < 2
  }
}
