import AMQP
import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Service

extension PurchaseAPI {
  func release(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let environments = try environments(call.request, beside: ["subscriptionId"])
    let subscriptionId = try subscriptionId(call.request)
    let key = try await record(call[.originalTransactionId], environments).purchase.key
    let trace = TraceParent(of: call.request.header("traceparent"))
    let answer = try await context.asking {
      try await PurchaseRelease(postgres).release(
        key, publisher: caller.publisher, subscriptionId: subscriptionId, now: context.now(),
        traceparent: trace.description)
    }
    guard let answer else { throw Self.unknownPurchase }
    if answer.isReleased {
      context.log.info(
        "released",
        [
          "publisherId": .int(key.publisherId.number), "originalTransactionId": .string(key.originalTransactionId.text),
          "environment": .string(key.environment.text), "traceId": .string(trace.traceId),
        ])
    }
    outlet.publish(answer.takeTold())
    return self.answer(try await record(key.originalTransactionId.text, [key.environment]))
  }

  private func subscriptionId(_ request: HTTPServerRequest) throws(Problem) -> Int64? {
    guard let text = request.query("subscriptionId") else { return nil }
    guard let number = Int64(text), number > 0 else {
      throw .invalidQuery("subscriptionId: expected the number of a period of ownership, as GET shows it")
    }
    return number
  }
}
