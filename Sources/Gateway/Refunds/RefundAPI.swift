import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Answers a publisher's requests about the refunds that its customers want.
@LoopActor
struct RefundAPI {
  let context: RoleContext
  let answers: RefundAnswers
  let publisher: Publisher

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let page = try PageRequest(call.request, others: ["state"])
    let start = try page.start(RefundAnswers.Place.init(cursor:))
    let state = try Self.state(call.request)
    var found = try await context.asking {
      try await answers.requests(of: publisher.id, in: state, after: start, limit: page.wanted)
    }
    let next = page.cut(&found).map { RefundAnswers.Place($0).cursor }
    let text = PageText(found) { RefundRequestWriter(publisher).one($0) }
    return jsonResponse(
      200,
      written: JSONWriter.object { list in
        list.member("nextCursor", text.end.map { RefundAnswers.Place($0).cursor } ?? next)
        list.member("refundRequests", array: text.elements)
      })
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try Self.id(call)
    guard let found = try await context.asking({ try await answers.request(publisher.id, id) }) else {
      throw Self.unknown
    }
    return answer(found)
  }

  func put(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try Self.id(call)
    let wish = try requestedWish(call.request)
    let found = try await context.asking {
      do {
        return try await answers.fulfil(wish, of: publisher.id, id, now: context.now()) { request in
          guard case .send(let answer) = wish, let defect = answer.defect(for: request.kind) else { return }
          throw Problem(defect)
        }
      } catch let refusal as RefundRequest.Refusal {
        throw Problem(refusal)
      }
    }
    guard let found else { throw Self.unknown }
    context.log.info(
      "refund request answered by the publisher",
      [
        "publisherId": .int(publisher.id.number), "refundRequestId": .string(id.text),
        "state": .string(found.state.rawValue),
      ])
    return answer(found)
  }

  private func answer(_ request: RefundRequest) -> HTTPServerResponse {
    jsonResponse(200, written: RefundRequestWriter(publisher).one(request))
  }

  private static func id(_ call: Call) throws(Problem) -> RefundRequestId {
    let id = RefundRequestId(call[.refundRequestId])
    guard RefundRequestId.isValid(id.text) else {
      throw .invalidPath("refundRequestId: expected the id of a refund request, as in the event refundRequested")
    }
    return id
  }

  /// The state of the requests in a list; `nil` for those in which the publisher or a worker has something to do.
  private static func state(_ request: HTTPServerRequest) throws(Problem) -> RefundRequest.State? {
    guard let text = request.query("state") else { return nil }
    guard let state = RefundRequest.State(rawValue: text) else {
      throw .invalidQuery(
        "state: expected one of \(RefundRequest.State.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return state
  }

  private static let unknown = Problem.notFound("The publisher has no refund request with this id.")
}

extension RefundAnswers.Place {
  init(_ request: RefundRequest) { self.init(deadline: request.deadline, id: request.id) }

  /// Reads a cursor that ``cursor`` wrote; `nil` for any other text.
  init?(cursor: String) {
    guard let parts = PageRequest.timeAndId(cursor), RefundRequestId.isValid(parts.id) else { return nil }
    self.init(deadline: parts.time, id: RefundRequestId(parts.id))
  }

  /// The cursor for the answer. Its content is not part of the contract.
  var cursor: String { "\(deadline)-\(id)" }
}
