import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Messaging
import Observability
import Service

extension WebhookAPI {
  /// Replaces the list of a topic.
  func putSubscriptions(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let topic = EventTopic(call[.topic])
    try require(topic)
    let list = try subscriptions(
      try jsonBody(call.request, limits: .subscriptions), topic: topic, address,
      newId: { () throws(Problem) in try newId() },
      newKey: { () throws(Problem) in try newKey(.cleeng) })
    let replacement = try await context.asking { try await store.replace(publisher.id, topic: topic, with: list) }
    guard case .replaced(let endpoints, let new, let removed) = replacement else { throw tooMany() }
    await forget(removed)
    context.log.info(
      "subscriptions replaced",
      [
        "publisherId": .int(publisher.id.number), "topic": .string(topic.text),
        "endpoints": .int(Int64(endpoints.count)),
        "created": .int(Int64(new.count)), "deleted": .int(Int64(removed.count)),
      ])
    let drawn = Set(list.filter { !$0.hasOwnKey }.map(\.endpoint.id)).intersection(new)
    return jsonResponse(200, try await answers(endpoints, showingSecretsOf: drawn))
  }

  /// Lists the subscriptions of a topic.
  func readSubscriptions(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let topic = EventTopic(call[.topic])
    try require(topic)
    let all = try await context.asking { try await store.endpoints(publisher.id)?.endpoints ?? [] }
    let found = all.filter { $0.source == .subscription && $0.topics == [topic] }
    return jsonResponse(200, try await answers(found, showingSecretsOf: []))
  }

  private func answers(
    _ endpoints: [WebhookEndpoint], showingSecretsOf new: Set<EndpointId>
  ) async throws(Problem) -> [SubscriptionAnswer] {
    zip(endpoints, try await health(endpoints.map(\.id))).map { endpoint, health in
      var answer = SubscriptionAnswer(endpoint, health)
      if new.contains(endpoint.id), let key = endpoint.secrets.first?.key {
        answer.signingSecret = WebhookSecret.text(key, endpoint.format)
      }
      return answer
    }
  }

  private func require(_ topic: EventTopic) throws(Problem) {
    let topics = context.doors.topics
    guard topics.contains(topic) else {
      throw .invalidPath("topic: \(UnknownTopic(topic, among: topics).inPath)")
    }
  }
}
