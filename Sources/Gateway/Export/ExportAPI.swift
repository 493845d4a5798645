import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Postgres
import Service

/// Answers a publisher's requests for all of its data.
@LoopActor
struct ExportAPI {
  let context: RoleContext
  let exports: PublisherExports
  let postgres: PostgresClient
  let metrics: GatewayMetrics
  let publisher: Publisher

  /// The time after which a client that finds no place should come again.
  private static let pause = Duration.seconds(60)

  /// Begins an export, and answers with its lines while they are written.
  ///
  /// What goes wrong before the first line has a status of its own. What goes wrong later ends the body without its
  /// end.
  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    // The head alone would cost a whole beginning.
    guard call.request.method == "GET" else { throw .methodNotAllowed(["GET"]) }
    let request = try ExportRequest(call.request)
    guard exports.begin(of: publisher.id) else {
      metrics.limited(.exports, publisher.id)
      throw .limited(.exports, Self.pause)
    }
    let soFar = request.after.map { ExportedSoFar(publisher: publisher.id, $0) }
    let stream = try await context.asking {
      do {
        return try await exports.run(publisher, after: soFar) { [metrics] in metrics.exports.count($0.rawValue) }
      } catch let refusal as ExportRefused {
        throw Problem.refused(refusal)
      }
    }
    do {
      try await context.asking {
        try await PublisherExport.note(
          publisher.id, by: call.caller.token?.name, resumes: soFar != nil, in: postgres)
      }
    } catch {
      // Nobody gets a line about which the audit log says nothing.
      stream.fail()
      throw error
    }
    return HTTPServerResponse(
      status: 200,
      headers: [
        ("Content-Type", "application/jsonl"), ("Cache-Control", "no-store"),
        // nginx would keep what a slow client has not read, and the export would not wait for the client.
        ("X-Accel-Buffering", "no"),
      ], stream: stream)
  }
}
