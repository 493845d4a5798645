/// What a request about webhooks asks for, by value.
enum WebhookRoute: Equatable {
  /// The list of a topic: PUT replaces it, GET reads it.
  case subscriptions(topic: String, Route.Method)
  /// The publisher's endpoints: POST creates one, GET lists them.
  case endpoints(Route.Method)
  case endpoint(String, Route.Method)
  case change(endpoint: String, EndpointChange)
  /// The log of the attempts to deliver to an endpoint.
  case endpointAttempts(String)
  /// The log of the attempts to deliver an event.
  case eventAttempts(String)
  case resend(event: String, endpoint: String)

  /// What can be done with an endpoint, by the last segment of the path.
  enum EndpointChange: String, CaseIterable {
    case enable, disable, test, recover
    case rotateSecret = "rotate_secret"
  }

  /// The label of the route's metrics.
  var name: String {
    switch self {
    case .subscriptions: "webhook_subscriptions"
    case .endpoints, .endpoint: "webhook_endpoints"
    case .change(_, let change): "webhook_endpoints_\(change.rawValue)"
    case .endpointAttempts, .eventAttempts: "webhook_attempts"
    case .resend: "webhook_deliveries_resend"
    }
  }
}
