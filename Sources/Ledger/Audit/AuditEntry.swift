public import Domain
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
    /// A person who runs the fleet, by a command.
    case `operator`

    init(_ asker: Job.Asker) {
      switch asker {
      case .publisher: self = .publisher
      case .customer: self = .customer
      case .app: self = .app
      }
    }
  }

  public let publisherId: PublisherId
  public let actor: Actor
  /// The name of the publisher's token; `nil` for another actor.
  public let token: String?
  /// The name of the operator; `nil` for another actor. The publisher does not see it.
  public let operatorName: String?
  /// What was changed and how, such as `endpoint.created`.
  public let action: String
  /// The id of the changed thing.
  public let subject: String
  /// A JSON object without secrets and personal data.
  public let detail: [UInt8]

  /// The name of the token whose request the task answers. The gateway sets it.
  ///
  /// It travels with the task, so that no store must hand it from its caller to the entry that it writes.
  @TaskLocal public static var requestToken: String?

  /// The numeric address of the person whose request the task answers. The console sets it.
  ///
  /// The entries of operators that the task writes have it as the last member of their detail. Only the console shows
  /// it.
  @TaskLocal public static var personAddress: String?

  /// Creates an entry.
  ///
  /// - Parameter token: the name of the publisher's token; without it, that of ``requestToken`` counts.
  public init(
    publisherId: PublisherId, actor: Actor, token: String? = nil, action: String, subject: String,
    detail: [UInt8] = Array("{}".utf8)
  ) {
    self.publisherId = publisherId
    self.actor = actor
    self.token = actor == .publisher ? token ?? Self.requestToken : nil
    operatorName = nil
    self.action = action
    self.subject = subject
    self.detail = actor == .operator ? Self.withAddress(detail) : detail
  }

  /// What an operator did to several messages or rows of a publisher.
  ///
  /// - Parameters:
  ///   - publisherId: the publisher; 0 if nobody can say whose they are.
  ///   - name: who did it.
  ///   - subject: what kind of things, such as `deliveries`.
  public init(publisherId: PublisherId, operator name: String, action: String, subject: String, detail: [UInt8]) {
    (self.publisherId, actor, token, operatorName) = (publisherId, .operator, nil, name)
    (self.action, self.subject, self.detail) = (action, subject, Self.withAddress(detail))
  }

  private static func withAddress(_ detail: [UInt8]) -> [UInt8] {
    personAddress.map { AuditAddress.adding($0, to: detail) } ?? detail
  }

  /// What a person did at the console, or somebody else with a credential.
  ///
  /// - Parameters:
  ///   - person: the person's name; `nil` if it was not at the console.
  ///   - actor: who it was otherwise.
  ///   - token: the name of the publisher's token, as in ``init(publisherId:actor:token:action:subject:detail:)``.
  init(
    publisherId: PublisherId, by person: String?, otherwise actor: Actor = .publisher, token: String? = nil,
    action: String,
    subject: String, detail: [UInt8] = Array("{}".utf8)
  ) {
    if let person {
      self.init(publisherId: publisherId, operator: person, action: action, subject: subject, detail: detail)
    } else {
      self.init(
        publisherId: publisherId, actor: actor, token: token, action: action, subject: subject, detail: detail)
    }
  }

  /// A changed owner of a purchase. It tells the number of the period of ownership, and no customer.
  ///
  /// - Parameter person: who did it at the console, if that is how.
  static func owner(
    _ action: String, of purchase: PurchaseKey, subscriptionId: Int64, by actor: Actor, token: String? = nil,
    operator person: String? = nil
  ) -> AuditEntry {
    AuditEntry(
      publisherId: purchase.publisherId, by: person, otherwise: actor, token: token, action: action,
      subject: purchase.originalTransactionId.text,
      detail: JSONWriter.object { writer in
        writer.member("environment", purchase.environment)
        writer.member("subscriptionId", subscriptionId)
      })
  }

  /// A look at a purchase that a person at the console has asked for.
  static func checked(_ purchase: PurchaseKey, by person: String) -> AuditEntry {
    AuditEntry(
      publisherId: purchase.publisherId, operator: person, action: "purchase.checked",
      subject: purchase.originalTransactionId.text,
      detail: JSONWriter.object { $0.member("environment", purchase.environment) })
  }

  /// A begun period of ownership.
  ///
  /// - Parameter person: who did it at the console, if that is how.
  init(_ begun: CommitState.Ownership, by person: String? = nil) {
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
      action, of: begun.purchase, subscriptionId: begun.subscriptionId, by: isByApple ? .apple : Actor(begun.asker),
      token: begun.tokenName, operator: isByApple ? nil : person)
  }

  /// The actor as the table has it: with the name of the token or of the operator behind a colon. No token's name has
  /// one.
  var column: String { (token ?? operatorName).map { "\(actor.rawValue):\($0)" } ?? actor.rawValue }

  /// Writes entries, in their order.
  public static func insert(_ entries: [AuditEntry]) -> PostgresQuery {
    PostgresQuery(insertStatement, table.parameters(entries))
  }

  private static let insertStatement = table.insert("insert audit")

  static let table = Table<AuditEntry>("audit", key: ["id"]) { columns in
    columns.other("id", "bigint", export: "id")
    columns.written("publisher_id", .publisher) { $0.publisherId }
    columns.other("at", "timestamptz", export: "at")
    columns.written("actor", .text, export: ColumnExport("actor", sql: "split_part(actor, ':', 1)")) { $0.column }
    columns.written("action", .text, export: "action") { $0.action }
    // The customer's id, in entries about customers.
    columns.written("subject", .text, person: .standIn) { $0.subject }
    columns.written("detail", .bytea, export: ColumnExport("detail", sql: AuditAddress.detailWithout)) { $0.detail }
  }
}
