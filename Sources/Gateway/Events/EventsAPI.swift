import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Answers a publisher's requests for its events.
@LoopActor
struct EventsAPI {
  let context: RoleContext
  let feed: EventFeed
  let waits: EventWaits
  let metrics: GatewayMetrics
  let publisher: Publisher

  func list(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let request = try EventsRequest(call.request, known: context.doors.topics)
    var wish = EventFeed.Wish(
      publisher.id, after: request.after, topics: request.topics, since: request.since, limit: request.limit)
    let deadline = ContinuousClock.now + .seconds(request.wait)
    var page = try await read(wish)
    guard page.events.isEmpty, !page.hasMore, request.wait > 0 else { return answer(page) }
    guard waits.begin(of: publisher.id) else {
      metrics.limited(.eventWaits, publisher.id)
      throw .limited(.eventWaits, .seconds(5))
    }
    defer { waits.end(of: publisher.id) }
    while page.events.isEmpty, !page.hasMore {
      wish.after = page.next
      let rest = deadline - .now
      guard rest > .zero, await waits.wait(publisher.id, page.next.position, atMost: rest) else { break }
      page = try await read(wish)
    }
    return answer(page)
  }

  private func read(_ wish: EventFeed.Wish) async throws(Problem) -> EventPage {
    switch try await context.asking({ try await feed.read(wish) }) {
    case .page(let page): return page
    case .refused(let refusal): throw .unusable(refusal)
    }
  }

  private func answer(_ page: EventPage) -> HTTPServerResponse {
    metrics.pulledEvents.add(Double(page.events.count))
    return jsonResponse(
      200,
      written: JSONWriter.object { answer in
        answer.member("events", array: page.events.map(\.cloudEvent))
        answer.member("hasMore", page.hasMore)
        answer.member("next", page.next.text)
      })
  }
}

extension Event {
  /// The event as CloudEvents 1.0 write it in JSON. The attributes are those of the AMQP headers, and `data` is the
  /// body that subscribers and webhooks get.
  var cloudEvent: [UInt8] {
    var members = headers.map { name, value in
      let prefix = CloudEventsAttributes.prefix
      return (name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name, value.json)
    }
    members.append(("datacontenttype", JSONWriter.text("application/json")))
    members.append(("data", body))
    return JSONWriter.object(members.sorted { $0.0 < $1.0 })
  }
}

extension EventHeader {
  fileprivate var json: [UInt8] {
    switch self {
    case .string(let text): JSONWriter.text(text)
    case .int(let number): Array(String(number).utf8)
    case .bool(let flag): Array((flag ? "true" : "false").utf8)
    }
  }
}
