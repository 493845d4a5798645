import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Service

/// Answers a publisher's requests about its audit log.
@LoopActor
struct AuditAPI {
  let context: RoleContext
  let log: AuditLog
  let publisher: Publisher

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let request = try AuditRequest(call.request)
    let page = try await context.asking {
      try await log.entries(publisher.id, before: request.before, limit: request.limit)
    }
    let text = PageText(page.entries) { $0.json }
    let body = JSONWriter.object { answer in
      answer.member("entries", array: text.elements)
      answer.member("nextBefore", text.end?.id ?? page.nextBefore)
    }
    return jsonResponse(200, written: body)
  }
}

/// The part of the audit log that the client asks for.
struct AuditRequest: Equatable {
  /// The maximum number of entries.
  let limit: Int
  /// Only entries with smaller numbers; `nil` begins with the newest.
  let before: Int64?

  /// Reads `limit` and `before`, and refuses every unknown parameter.
  ///
  /// - Throws: ``Problem``: 400 REQ0002.
  init(_ request: HTTPServerRequest) throws(Problem) {
    try requireOnly(["limit", "before"], request)
    limit = Int(try queryNumber("limit", 1...250, of: request) ?? 50)
    before = try queryNumber("before", 1...Int64.max, of: request)
  }
}
