import Domain
import Postgres

/// The columns of `webhook_endpoints`: an endpoint, and its secrets as they are stored.
struct WebhookRow: ReadableRecord {
  var publisherId: PublisherId = 0
  /// Without its secrets and its format.
  var endpoint = WebhookEndpoint(id: .unknown, url: "", topics: [], secrets: [])
  /// The name of a format: that of a door, which this build may not have.
  var format = ""
  var stored = StoredSecrets.Columns(secrets: [])

  static let blank = WebhookRow()
  var title: String { "endpoint \(endpoint.id)" }

  static let table = Table<WebhookRow>("webhook_endpoints", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.required("id", .id(of: EndpointId.self), { $0.endpoint.id }, { $0.endpoint.id = $1 })
    columns.required("url", .text, { $0.endpoint.url }, { $0.endpoint.url = $1 })
    columns.required("name", .text, { $0.endpoint.name }, { $0.endpoint.name = $1 })
    columns.required("topics", .ids(of: EventTopic.self), { $0.endpoint.topics }, { $0.endpoint.topics = $1 })
    columns.required("format", .text, { $0.format }, { $0.format = $1 })
    columns.required(
      "signature", .name(of: WebhookEndpoint.Signature.self), { $0.endpoint.signature },
      { $0.endpoint.signature = $1 })
    columns.required("secrets", .bytea, { $0.stored.secrets }, { $0.stored.secrets = $1 })
    columns.optional("secrets_key", .text, { $0.stored.keyId }, { $0.stored.keyId = $1 })
    columns.optional("put_key", .text, { $0.stored.putKey }, { $0.stored.putKey = $1 })
    columns.required(
      "retry", .text, { StoredEndpoint.text($0.endpoint.retry) }, { $0.endpoint.retry = try retry($1) })
    columns.optional(
      "payment_method_id", .bigint, { $0.endpoint.paymentMethodId }, { $0.endpoint.paymentMethodId = $1 })
    columns.required(
      "max_concurrency", .integer, { Int32(clamping: $0.endpoint.maxConcurrency) },
      { $0.endpoint.maxConcurrency = Int($1) })
    columns.optional(
      "max_per_second", .integer, { $0.endpoint.maxPerSecond.map { Int32(clamping: $0) } },
      { $0.endpoint.maxPerSecond = $1.map { Int($0) } })
    columns.required(
      "accepts_self_signed", .boolean, { $0.endpoint.acceptsSelfSigned }, { $0.endpoint.acceptsSelfSigned = $1 })
    columns.required(
      "source", .name(of: WebhookEndpoint.Source.self), { $0.endpoint.source }, { $0.endpoint.source = $1 })
    columns.required("created_at", .timestamptz, { $0.endpoint.createdAt }, { $0.endpoint.createdAt = $1 })
    columns.required("updated_at", .timestamptz, { $0.endpoint.updatedAt }, { $0.endpoint.updatedAt = $1 })
    columns.optional(
      "environment", .name(of: WebhookEnvironment.self), { $0.endpoint.environment },
      { $0.endpoint.environment = $1 })
    columns.other("revision", "bigint")
  }

  private static func retry(_ text: String) throws -> WebhookEndpoint.Retry {
    guard let retry = StoredEndpoint.retry(text) else { throw UnreadableValue() }
    return retry
  }
}

extension PostgresStatement {
  static let insertEndpoint = PostgresStatement(
    "insert endpoint",
    """
    INSERT INTO webhook_endpoints (\(WebhookRow.table.names), revision)
    VALUES (\(WebhookRow.table.placeholders), 1)
    """)

  static let updateEndpoint = PostgresStatement(
    "update endpoint",
    """
    UPDATE webhook_endpoints SET (\(WebhookRow.table.names), revision)
      = (\(WebhookRow.table.placeholders), revision + 1)
    WHERE \(WebhookRow.table.hasKey)
    """)
}
