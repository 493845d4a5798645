import Domain
import JSON
public import Postgres

/// A change that a token, Apple's notification or the publisher's policy made. The commit of the change writes it.
public struct AuditEntry: Sendable, Equatable {
  /// Whose token it was, or what made the change without one.
  public enum Actor: String, Sendable {
    case publisher
    case customer
    /// Apple's notification.
    case apple
    /// The key of an app, at a door.
    case app
    /// The policy of an offer, in the publisher's file.
    case policy

    init(_ asker: Job.Asker) {
      switch asker {
      case .publisher: self = .publisher
      case .customer: self = .customer
      case .app: self = .app
      }
    }
  }

  public let publisherId: Int64
  public let actor: Actor
  /// What was changed and how, such as `endpoint.created`.
  public let action: String
  /// The id of the changed thing.
  public let subject: String
  /// A JSON object without secrets and personal data.
  public let detail: [UInt8]

  /// Creates an entry.
  public init(
    publisherId: Int64, actor: Actor, action: String, subject: String, detail: [UInt8] = Array("{}".utf8)
  ) {
    self.publisherId = publisherId
    self.actor = actor
    self.action = action
    self.subject = subject
    self.detail = detail
  }

  /// A changed owner of a purchase. It tells the number of the period of ownership, and no customer.
  static func owner(
    _ action: String, of purchase: PurchaseKey, subscriptionId: Int64, by actor: Actor
  ) -> AuditEntry {
    AuditEntry(
      publisherId: purchase.publisherId, actor: actor, action: action, subject: purchase.originalTransactionId,
      detail: JSONWriter.object { writer in
        writer.member("environment", purchase.environment)
        writer.member("subscriptionId", subscriptionId)
      })
  }

  /// A begun period of ownership.
  init(_ begun: CommitState.Ownership) {
    let action =
      switch begun.cause {
      case .registration: "purchase.registered"
      case .transfer: "purchase.transferred"
      case .restore: "purchase.restored"
      case .appAccountToken: "purchase.claimed"
      case .upgrade: "purchase.upgraded"
      }
    let isByApple = begun.cause == .appAccountToken || begun.cause == .upgrade
    self = .owner(
      action, of: begun.purchase, subscriptionId: begun.subscriptionId, by: isByApple ? .apple : Actor(begun.asker))
  }

  /// Writes entries, in their order.
  public static func insert(_ entries: [AuditEntry]) -> PostgresQuery {
    PostgresQuery(
      insertStatement,
      [
        .int64s(entries.map(\.publisherId)), .texts(entries.map(\.actor.rawValue)), .texts(entries.map(\.action)),
        .texts(entries.map(\.subject)), .bytes(entries.map(\.detail)),
      ])
  }

  private static let insertStatement = PostgresStatement(
    "insert audit",
    """
    INSERT INTO audit (publisher_id, actor, action, subject, detail)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[])
    """)
}
