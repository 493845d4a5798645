import Domain
import EventLoop

/// The requests of a gateway's callers, as bytes.
@LoopActor
struct GatewayRequests {
  let port: Int
  let token: String

  /// Registers the subscription of a number.
  func registration(_ number: Int) -> [UInt8] {
    let job = Backend.job(number)
    let body = "{\"customerId\":\"\(job.customerId)\",\"transactionId\":\"\(job.transactionId)\"}"
    return Array(
      """
      POST /storekit2/purchases HTTP/1.1\r
      Host: 127.0.0.1:\(port)\r
      Content-Type: application/json\r
      X-Publisher-Token: \(token)\r
      Correlation-Id: \(job.synchronizationId)\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
  }

  /// Reads the entitlements of the customer of a number.
  func entitlements(_ number: Int) -> [UInt8] {
    Array(
      """
      GET /customers/\(Backend.customer(number))/entitlements HTTP/1.1\r
      Host: 127.0.0.1:\(port)\r
      X-Publisher-Token: \(token)\r
      \r

      """.utf8)
  }
}
