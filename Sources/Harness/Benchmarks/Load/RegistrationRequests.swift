import Domain
import EventLoop

/// The registrations of numbered jobs, as bytes.
@LoopActor
struct RegistrationRequests {
  let port: Int
  let token: String

  func request(_ number: Int) -> [UInt8] {
    let job = Backend.job(number)
    let body = "{\"cleengCustomerId\":\(job.customerId),\"transactionId\":\"\(job.transactionId)\"}"
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
}
