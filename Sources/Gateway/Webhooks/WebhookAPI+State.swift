import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Service

/// Enables and disables an endpoint, and rotates its secret.
extension WebhookAPI {
  func enable(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    let endpoint = try await endpoint(id)
    let isConfigured = endpoint.source == .configuration
    guard try await context.asking({ try await store.enable(publisher.id, id, isConfigured: isConfigured) }) else {
      throw Self.unknownEndpoint
    }
    context.log.info("endpoint enabled", fields(id))
    return jsonResponse(200, try await answers([endpoint])[0])
  }

  func disable(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    try requireOwn(id)
    guard try await context.asking({ try await store.disable(publisher.id, id) }) else { throw Self.unknownEndpoint }
    context.log.info("endpoint disabled", fields(id))
    return jsonResponse(200, try await answers([try await endpoint(id)])[0])
  }

  func rotateSecret(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    try requireOwn(id)
    let reader = try BodyReader(try optionalJSONBody(call.request), knows: ["overlapSeconds", "secret"])
    let overlap = try reader.integer("overlapSeconds", 0...604_800) ?? 86_400
    let endpoint = try await changed(id) { endpoint, now in
      let given = try EndpointRequest.newSecret(reader, of: endpoint)
      let key = try given ?? newKey(endpoint.format)
      guard endpoint.rotate(to: key, overlap: overlap * 1000, now: now) else {
        throw Problem.conflict(
          "\(WebhookEndpoint.maxOldSecrets) old secrets still sign; wait until one expires, or end them with "
            + "overlapSeconds 0.")
      }
    }
    context.log.info("secret rotated", fields(id))
    var answer = EndpointAnswer(endpoint, try await health([id])[0], now: context.now())
    show(endpoint, in: &answer)
    return jsonResponse(200, answer)
  }
}
