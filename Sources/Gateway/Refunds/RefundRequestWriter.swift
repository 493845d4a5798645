import Domain
import JSON

/// Writes requests for refunds as JSON. The members stand in the order of their names.
struct RefundRequestWriter {
  private let publisher: Publisher

  init(_ publisher: Publisher) { self.publisher = publisher }

  func one(_ request: RefundRequest) -> [UInt8] { JSONWriter.object { write(request, to: &$0) } }

  private func write(_ request: RefundRequest, to writer: inout JSONWriter) {
    writer.member("answer", json: request.answer?.body)
    writer.member("answeredBy", request.answeredBy?.rawValue)
    writer.member("attempts", Int64(request.attempts))
    writer.member("cleengCustomerId", request.customerId.flatMap(\.number))
    if let consent = request.consent {
      writer.member("consent") { writer in
        writer.member("textVersion", consent.textVersion)
        writer.time("time", consent.time)
      }
    }
    writer.member("customerId", request.customerId)
    writer.time("deadline", request.deadline)
    writer.time("endedAt", request.endedAt)
    writer.member("environment", request.purchase.environment)
    writer.member("lastError", request.lastError)
    writer.member("offerId", publisher.offers.offer(forProduct: request.productId)?.id)
    writer.member("originalTransactionId", request.purchase.originalTransactionId)
    writer.member("productId", request.productId)
    writer.member("reason", request.reason)
    writer.member("refundRequestId", request.id)
    writer.time("requestedAt", request.requestedAt)
    writer.member("state", request.state.rawValue)
    writer.member("transactionId", request.transactionId)
    writer.member("type", request.kind.rawValue)
  }
}
