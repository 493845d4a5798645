import HTTP

extension SendResult {
  /// Judges an answer: Apple takes 200 to 206 for a receipt.
  init(status: Int) { self = 200...206 ~= status ? .success : .unsuccessful }

  /// Judges an attempt without an answer.
  init(_ code: HTTPClientError.Code) {
    self =
      switch code {
      case .timeout: .timedOut
      case .tls: .tls
      case .unreachable: .noResponse
      case .interrupted: .prematureClose
      case .responseTooLarge: .invalidResponse
      case .forbiddenAddress, .invalidRequest, .cancelled: .other
      }
  }
}
