import Domain
import JSON

extension AuditEntry {
  /// What a publisher can do to its endpoints and their events.
  enum EndpointAction: String {
    case created = "endpoint.created"
    case changed = "endpoint.changed"
    case deleted = "endpoint.deleted"
    case enabled = "endpoint.enabled"
    case disabled = "endpoint.disabled"
    case tested = "endpoint.tested"
    case resent = "event.resent"
    case recovered = "events.recovered"
  }

  /// The change of an endpoint, or a request to send it events.
  ///
  /// - Parameter person: who did it at the console; `nil` if it was not there.
  static func endpoint(
    _ action: EndpointAction, _ id: EndpointId, of publisher: PublisherId, by person: String? = nil,
    _ detail: (inout JSONWriter) -> Void = { _ in }
  ) -> AuditEntry {
    AuditEntry(
      publisherId: publisher, by: person, action: action.rawValue, subject: id.text,
      detail: JSONWriter.object(detail))
  }

  /// A new endpoint. Its URL stays out: some receivers have a secret in it.
  static func created(_ endpoint: WebhookEndpoint, of publisher: PublisherId) -> AuditEntry {
    .endpoint(.created, endpoint.id, of: publisher) { detail in
      detail.member("source", endpoint.source.rawValue)
      detail.member("topics", endpoint.topics.map(\.text).joined(separator: " "))
    }
  }

  /// A changed endpoint, with the names of the members that have another value now.
  static func changed(
    _ id: EndpointId, _ members: [String], of publisher: PublisherId, by person: String? = nil
  ) -> AuditEntry {
    .endpoint(.changed, id, of: publisher, by: person) { $0.member("members", members.joined(separator: " ")) }
  }
}
