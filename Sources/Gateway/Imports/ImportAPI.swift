import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import HTTPServer
import Import
import JSON
import Ledger
import Observability
import Service

/// Answers a publisher's requests about imports of files.
@LoopActor
struct ImportAPI {
  let context: RoleContext
  let store: ImportStore
  let parts: ImportParts
  let reports: ImportReports
  let metrics: GatewayMetrics
  let caller: Caller

  private var publisher: Publisher { caller.publisher }
  private var token: String? { caller.token?.name }

  // MARK: Imports

  func create(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let wish = try requestedImport(call.request, ImportPresets(context.doors))
    guard !publisher.apps.isEmpty else { throw .notActivated }
    let new = try await context.asking {
      UploadedImport(
        id: ImportId(random: try secureRandomBytes(16)), publisherId: publisher.id, wish: wish, token: token,
        createdAt: context.now())
    }
    let room = try await context.asking { try await store.create(new) }
    if let refusal = Problem(room) {
      metrics.limited(.imports, publisher.id)
      throw refusal
    }
    note("created", new)
    var response = jsonResponse(201, written: ImportAnswer.written(new))
    response.headers.append(("Location", "/imports/\(new.id)"))
    return response
  }

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let page = try PageRequest(call.request)
    let start = try page.start(ImportStore.Place.init(cursor:))
    var found = try await context.asking {
      try await store.list(publisher.id, after: start, limit: page.wanted)
    }
    let next = page.cut(&found).map { ImportStore.Place($0).cursor }
    return jsonResponse(200, written: ImportAnswer.list(found, next: next))
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    try requireOnly([], call.request)
    return answer(try await known(call))
  }

  func delete(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try importId(call)
    try requireOnly([], call.request)
    let existed = try await asking { try await store.delete(id, publisher.id) }
    guard existed else { throw .noImport }
    return HTTPServerResponse(status: 204)
  }

  // MARK: Steps

  func append(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try importId(call)
    try requireOnly(["offset"], call.request)
    guard let offset = try queryNumber("offset", 0...UploadedImport.mostBytes, of: call.request) else {
      throw .invalidQuery("offset: is missing")
    }
    let one = try await asking {
      try await store.append(call.request.body, at: offset, to: id, publisher.id, now: context.now())
    }
    guard let one else { throw .noImport }
    return answer(one)
  }

  func check(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    try requireOnly([], call.request)
    return try await take(.checked, call) { one throws(ImportStepRefusal) in
      try one.check(by: token, now: context.now())
    }
  }

  func start(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let skip = try requestedSkip(call.request)
    return try await take(.started, call) { one throws(ImportStepRefusal) in
      try one.start(skipsProblems: skip, by: token, now: context.now())
    }
  }

  func cancel(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    try requireOnly([], call.request)
    return try await take(.cancelled, call) { one throws(ImportStepRefusal) in try one.cancel(now: context.now()) }
  }

  private func take(
    _ step: ImportStore.Step, _ call: Call, _ change: (inout UploadedImport) throws(ImportStepRefusal) -> Bool
  ) async throws(Problem) -> HTTPServerResponse {
    let id = try importId(call)
    guard let one = try await asking({ try await store.take(step, of: id, publisher.id, change) }) else {
      throw .noImport
    }
    note(step.rawValue, one)
    return answer(one)
  }

  // MARK: The report

  func report(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    // The head alone would cost the beginning of a report.
    guard call.request.method == "GET" else { throw .methodNotAllowed(["GET"]) }
    try requireOnly([], call.request)
    let one = try await known(call)
    guard one.hasReport else { throw .noReport }
    guard reports.begin(of: publisher.id) else {
      metrics.limited(.importReports, publisher.id)
      throw .limited(.importReports, .seconds(10))
    }
    let first: [UInt8]?
    do {
      first = try await context.asking {
        // Nobody gets a line about which the audit log says nothing.
        try await store.noteReport(of: one, by: token)
        return try await piece(of: one, at: 0)
      }
    } catch {
      reports.end(of: publisher.id)
      throw error
    }
    let stream = reports.stream(
      of: publisher.id, first: first,
      next: { [self] place in
        if let piece = try await piece(of: one, at: place) { return piece }
        // A report that was deleted or begun anew must not look whole.
        guard try await store.read(one.publisherId, one.id)?.changedAt == one.changedAt else { throw Changed() }
        return nil
      }, onFailure: { [log = context.log] in log.ledgerFailure("the report of an import broke off", $0) })
    return HTTPServerResponse(
      status: 200,
      headers: [
        ("Content-Type", "application/jsonl"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
      ], stream: stream)
  }

  /// The import is no longer what it was.
  private struct Changed: Error {}

  private func piece(of one: UploadedImport, at place: Int64) async throws -> [UInt8]? {
    try await parts.bytes(.report, of: one.id, one.publisherId, at: place, most: 256 << 10)
  }

  // MARK: Requests

  private func known(_ call: Call) async throws(Problem) -> UploadedImport {
    let id = try importId(call)
    guard let one = try await context.asking({ try await store.read(publisher.id, id) }) else { throw .noImport }
    return one
  }

  private func importId(_ call: Call) throws(Problem) -> ImportId {
    guard ImportId.isValid(call[.importId]) else {
      throw .invalidPath("importId: expected imp_ and 32 hexadecimal digits")
    }
    return ImportId(call[.importId])
  }

  private func answer(_ one: UploadedImport) -> HTTPServerResponse {
    jsonResponse(200, written: ImportAnswer.written(one))
  }

  private func note(_ what: String, _ one: UploadedImport) {
    context.log.info(
      "import \(what)", ["publisherId": .int(publisher.id.number), "importId": .string(one.id.text)])
  }

  private func asking<Value>(_ ask: () async throws -> Value) async throws(Problem) -> Value {
    try await context.asking {
      do {
        return try await ask()
      } catch let refusal as ImportStepRefusal {
        throw Problem(refusal)
      }
    }
  }

  // MARK: Large bodies

  /// Whose bytes a part is, by its head alone.
  ///
  /// - Throws: ``Problem``: nobody without a right credential makes the gateway keep a large body.
  static func sender(
    of head: HTTPServerRequest, by authenticator: Authenticator
  ) throws(Problem) -> HTTPServer.LargeBody.Sender? {
    let caller = try authenticator.caller(of: head)
    guard caller.customerId == nil else {
      throw .forbidden("This is done with the publisher's token, X-Publisher-Token, and not with a customer's.")
    }
    try caller.require(.imports)
    return HTTPServer.LargeBody.Sender(publisher: String(caller.publisher.id), credential: .backend)
  }

  /// The answer to a part that the server does not take.
  static func refusal(of reason: HTTPServer.BodyRefusal) -> Problem {
    switch reason {
    case .tooLong: .tooLarge(UploadedImport.mostPartBytes)
    case .noRoom: .unavailable("The gateway has no room for the part now. Nothing was kept.")
    }
  }
}
