import Domain
import FoundationEssentials
import HTTP
import JSON
import Service

@testable import AppStore
@testable import Gateway

/// Answers of the servers that Countersign itself calls: Apple's API, and the key sets of publishers.
enum ServiceAnswers {
  private static let statuses = [200, 400, 401, 404, 429, 500]
  private static let now: Int64 = 1_790_000_000_000

  static func run(_ input: [UInt8]) {
    var parts = FuzzInput(input)
    let status = statuses[Int(parts.byte()) % statuses.count]
    let field = parts.text()
    let response = HTTPClientResponse(
      status: status, headers: [("retry-after", field), ("cache-control", field), ("apple-originating-system", field)],
      body: Array(parts.rest))
    let error = AppStoreAPIError(response, endpoint: .transactionInfo, now: now)
    if case .rateLimited(let time?) = error.kind {
      precondition((now...now + AppleRetryAfter.longestWait).contains(time), "a pause without an end")
    }
    _ = (error.description, error.code, AppleCorrelation(response))
    _ = KeySetFetch.maxAge(field)
    if case .fetched(let set, maxAge: _) = KeySetFetch(response) {
      for key in set.keys { _ = key.key.isValidSignature([1, 2, 3], for: [4]) }
    }
    guard let text = try? JSONText(response.body) else { return }
    _ = try? text.decoded(as: TransactionInfoResponse.self)
    _ = try? text.decoded(as: NotificationHistoryResponse.self)
    _ = try? text.decoded(as: SentNotification.self)
    _ = try? text.decoded(as: TestNotificationResponse.self)
    for status in (try? text.decoded(as: SubscriptionStatusesResponse.self))?.data ?? [] {
      for transaction in status.lastTransactions ?? [] {
        _ = transaction.signedTransactionInfo.map { SignedDataVerifier.unverifiedPayload(of: $0) }
      }
    }
  }
}
