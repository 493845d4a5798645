import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Service

/// Endpoints, and what is delivered to them.
extension ConsoleAPI {
  func endpoints(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    let place = question.after
    let read = try await endpoints.endpoints(
      of: question.publishers, after: place.map { EndpointKey(publisherId: $0.publisherId, id: EndpointId($0.id)) },
      limit: ListPage.most + 1)
    let files = question.publishers.compactMap { context.publishers[$0] }.flatMap(\.endpointsOfFile)
    let chosen = EndpointsPage.page(files, read, after: place, limit: ListPage.most)
    let states = try await endpoints.states(of: chosen.rows.map(\.key))
    let page = EndpointsPage(
      view: reader.view, question: question,
      found: ConsoleRows(zip(chosen.rows, states).map { EndpointsPage.Row(endpoint: $0, state: $1) }, next: chosen.next)
    )
    return reader.answer(html: page.html, json: page.json)
  }

  func endpoint(
    _ key: EndpointKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    guard publisher(key.publisherId, reader) != nil else { return reader.nothing }
    guard
      let question = EndpointPage.Question(
        outcome: request.query("outcome") ?? "", after: request.query("after") ?? "")
    else {
      return reader.notUnderstood("The address has a value that this page cannot use. Open the page from a link.")
    }
    guard let page = try await endpointPage(key, question, reader) else { return reader.nothing }
    return reader.answer(html: page.html, json: page.json)
  }

  /// Reads an endpoint's page; `nil` if there is no such endpoint, and no attempt at one that is deleted.
  func endpointPage(
    _ key: EndpointKey, _ question: EndpointPage.Question, _ reader: ConsoleReader
  ) async throws -> EndpointPage? {
    async let slow = backlogAndHours(of: key, reader)
    async let found = known(key)
    async let states = endpoints.states(of: [key])
    let attempts = try await deliveries.attempts(
      publisher: key.publisherId, endpoint: key.id, limit: EndpointPage.most, cursor: question.after,
      result: question.outcome)
    let endpoint = try await found
    guard endpoint != nil || !attempts.entries.isEmpty || question != EndpointPage.Question() else { return nil }
    let (backlog, hours) = await slow
    return EndpointPage(
      view: reader.view, endpoint: endpoint ?? .unknown(key),
      state: try await states.first ?? ConsoleEndpoint.State(), backlog: backlog, attempts: attempts, hours: hours,
      question: question)
  }

  func event(_ key: EventKey, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let page = try await eventPage(key, reader) else { return reader.nothing }
    return reader.answer(html: page.html, json: page.json)
  }

  /// Reads an event's page for somebody who may see the publisher; `nil` if nothing is known of the event.
  func eventPage(_ key: EventKey, _ reader: ConsoleReader) async throws -> EventDetailPage? {
    guard publisher(key.publisherId, reader) != nil else { return nil }
    async let read = ConsoleEvent.read(key.publisherId, key.id, postgres)
    let log = try await deliveries.attempts(
      publisher: key.publisherId, event: key.id, limit: EventDetailPage.most)
    let (event, attempts) = (try await read, log.entries.map(\.attempt))
    guard event.event != nil || !event.open.isEmpty || !attempts.isEmpty else { return nil }
    let ids = EventDetailPage.endpoints(event, attempts)
    let keys = ids.map { EndpointKey(publisherId: key.publisherId, id: $0) }
    let states = try await endpoints.states(of: keys)
    let known = try await known(ids, of: key.publisherId)
    let rows = zip(keys, states).map { key, state in
      EndpointsPage.Row(endpoint: known[key.id] ?? .unknown(key), state: state)
    }
    return EventDetailPage(
      view: reader.view, event: event, endpoints: rows, attempts: attempts, hasMore: log.next != nil)
  }

  /// Finds an endpoint, in the publisher's file or of the API.
  func known(_ key: EndpointKey) async throws -> ConsoleEndpoint? {
    try await known([key.id], of: key.publisherId)[key.id]
  }

  private func known(_ ids: [EndpointId], of publisher: PublisherId) async throws -> [EndpointId: ConsoleEndpoint] {
    let own = (context.publishers[publisher]?.endpointsOfFile ?? []).filter { ids.contains($0.id) }
    let others = Set(ids).subtracting(own.map(\.id)).sorted()
    let read = try await endpoints.endpoints(of: publisher, named: others)
    return Dictionary((own + read).map { ($0.id, $0) }) { first, _ in first }
  }

  /// What may take long, one behind the other on one connection.
  ///
  /// - Returns: `nil` and nothing for what could not be read in time.
  private func backlogAndHours(
    of key: EndpointKey, _ reader: ConsoleReader
  ) async -> (ConsoleEndpoint.Backlog?, [ConsoleEndpoint.Hour]) {
    let most = context.settings.console.statementTimeout
    let found = await timelines.run(of: reader.view.person.name) { [endpoints] in
      let backlog = await ifRead("backlog") { try await endpoints.backlog(of: key.publisherId, key.id, within: most) }
      let hours = await ifRead("day of attempts") {
        try await endpoints.hours(of: key.publisherId, key.id, within: most)
      }
      return (backlog, hours ?? [])
    }
    return found ?? (nil, [])
  }

  private func ifRead<Value>(_ what: String, _ read: @LoopActor () async throws -> Value) async -> Value? {
    do {
      return try await read()
    } catch {
      log("console could not read a \(what)", error)
      return nil
    }
  }
}

extension Publisher {
  /// The endpoints of the publisher's file, and the URLs that get Apple's notifications.
  fileprivate var endpointsOfFile: [ConsoleEndpoint] {
    webhooks.map {
      ConsoleEndpoint(publisherId: id, id: $0.id, url: $0.url, topics: $0.topics, source: "configuration")
    }
      + notifications.forwards.map {
        ConsoleEndpoint(publisherId: id, id: $0.id, url: $0.url, source: "forward")
      }
  }
}
