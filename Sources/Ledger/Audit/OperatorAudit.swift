public import Domain
public import EventLoop
import Formats
import JSON
public import Postgres

/// Notes what an operator's command does, before it does it.
@LoopActor
public struct OperatorAudit {
  private let postgres: PostgresClient
  private let name: String

  /// Creates an audit over a client.
  ///
  /// - Parameter name: who runs the command.
  public init(_ postgres: PostgresClient, name: String) { (self.postgres, self.name) = (postgres, name) }

  /// Why a text cannot name an operator; `nil` when it can.
  public nonisolated static func defect(ofName name: String) -> String? {
    guard (1...100).contains(name.utf8.count) else { return "expected a name of 1 to 100 bytes" }
    return name.unicodeScalars.allSatisfy { !$0.isControl }
      ? nil : "expected a name without control characters"
  }

  /// Writes one entry for each publisher.
  ///
  /// - Parameters:
  ///   - action: such as `dead.retried`.
  ///   - subject: what kind of things, such as `deliveries`.
  ///   - publishers: the publisher of each thing; `nil` if nobody can say whose it is.
  ///   - filter: what the operator asked for, as a JSON object without personal data.
  /// - Throws: `PostgresError`.
  public func note(_ action: String, _ subject: String, of publishers: [PublisherId?], filter: [UInt8]) async throws {
    let entries = entries(action, subject, of: publishers, filter: filter)
    guard !entries.isEmpty else { return }
    _ = try await postgres.run(AuditEntry.insert(entries))
  }

  /// The entries, in the order of the publishers, for a commit that makes the change itself.
  public func entries(_ action: String, _ subject: String, of publishers: [PublisherId?], filter: [UInt8])
    -> [AuditEntry]
  {
    let counts = Dictionary(publishers.map { ($0 ?? 0, Int64(1)) }) { $0 + $1 }
    return counts.sorted { $0.key < $1.key }.map { publisher, count in
      AuditEntry(
        publisherId: publisher, operator: name, action: action, subject: subject,
        detail: JSONWriter.object { detail in
          detail.member("count", count)
          detail.member("filter", json: filter)
        })
    }
  }
}
