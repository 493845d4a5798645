import Domain
import HTTPServer

extension Gateway {
  /// Accepts a transfer: a job that goes the way of a registration.
  func transfer(_ call: Call) async throws(Problem) -> HTTPServerResponse { try await accept(call, .transfer) }
}
