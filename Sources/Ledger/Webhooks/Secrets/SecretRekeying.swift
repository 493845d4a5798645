public import Crypto
import Domain
public import EventLoop
public import Postgres

/// Encrypts the secrets of all webhook endpoints with the first key, in small transactions.
///
/// It takes only rows that are not under the first key. So the next run continues a run that was stopped. It skips rows
/// that somebody changes at the moment, and holds a row only while it writes it. No endpoint's version changes: the
/// secrets are the same.
@LoopActor
public final class SecretRekeying {
  /// Names a row.
  private struct Place {
    let publisher: PublisherId
    let endpoint: EndpointId
  }

  private let postgres: PostgresClient
  private let keys: SealingKeys
  private let first: String
  private let refusesPlain: Bool
  private let batch: Int32
  /// The last row of the present pass, so that rows that cannot be decrypted do not come again in it.
  private var place: Place?
  /// The rows of the present pass that cannot be read although their key is there, or that are plain text where that is
  /// refused: a sentence for each, without a secret.
  public private(set) var refused: [String] = []

  /// Creates a rekeying over a started client; `nil` without keys.
  ///
  /// - Parameters:
  ///   - refusesPlain: whether plain text stays as it is. A seal would make a stranger's secret look like one of ours.
  ///   - batch: the most rows of one transaction.
  public init?(_ postgres: PostgresClient, _ keys: SealingKeys, refusesPlain: Bool = false, batch: Int32 = 100) {
    guard let first = keys.first else { return nil }
    self.postgres = postgres
    self.keys = keys
    self.first = first
    self.refusesPlain = refusesPlain
    self.batch = batch
  }

  /// Encrypts the next rows, in one transaction.
  ///
  /// - Returns: the number of rows that are under the first key now; `nil` at the end of a pass. The next call begins
  ///   another pass.
  /// - Throws: `PostgresError`.
  public func step() async throws -> Int? {
    let start = place
    if start == nil { refused = [] }
    let (found, done, last, refused) = try await postgres.transaction { transaction in
      let rows = try await transaction.query(
        PostgresQuery(
          .rowsToRekey,
          [
            .text(self.first), .texts(self.keys.ids), .id(start?.publisher), .id(start?.endpoint),
            .int32(self.batch),
          ]))
      var (written, refused): ([PostgresQuery], [String]) = ([], [])
      for row in rows {
        let (publisher, endpoint) = (try row.id("publisher_id") ?? 0, try row.id("id") ?? EndpointId.unknown)
        let columns = StoredSecrets.Columns(
          secrets: try row.bytes("secrets") ?? [], keyId: try row.text("secrets_key"), putKey: try row.text("put_key"))
        do throws(StoredSecrets.Unreadable) {
          let stored = try StoredSecrets(columns, publisher, endpoint, self.keys, refusesPlain: self.refusesPlain)
          written.append(try self.write(stored, publisher, endpoint))
        } catch {
          refused.append(Self.sentence(error, publisher, endpoint))
        }
      }
      if !written.isEmpty { _ = try await transaction.query(written) }
      let last = try rows.last.map {
        Place(publisher: try $0.id("publisher_id") ?? 0, endpoint: try $0.id("id") ?? EndpointId.unknown)
      }
      return (rows.count, written.count, last, refused)
    }
    place = last
    self.refused += refused
    return found == 0 ? nil : done
  }

  private static func sentence(_ error: StoredSecrets.Unreadable, _ publisher: PublisherId, _ endpoint: EndpointId)
    -> String
  {
    switch error {
    case .form: "\(UnreadableRecord("the secrets of endpoint \(endpoint) of publisher \(publisher)"))"
    case .defect(let defect):
      "\(UnreadableSecrets(publisherId: publisher, endpointId: endpoint, defect: defect))"
    }
  }

  private func write(
    _ stored: StoredSecrets, _ publisher: PublisherId, _ endpoint: EndpointId
  ) throws(StoredSecrets.Unreadable) -> PostgresQuery {
    guard let columns = try? stored.columns(publisher, endpoint, keys) else { throw .form }
    return PostgresQuery(
      .rekeyRow,
      [.id(publisher), .id(endpoint), .bytes(columns.secrets), .text(columns.keyId), .text(columns.putKey)])
  }
}

extension PostgresStatement {
  /// Rows of a missing key stay out: nobody could do anything about them.
  fileprivate static let rowsToRekey = PostgresStatement(
    "rows to rekey",
    """
    SELECT publisher_id, id, secrets, secrets_key, put_key FROM webhook_endpoints
    WHERE secrets_key IS DISTINCT FROM $1 AND (secrets_key IS NULL OR secrets_key = ANY($2::text[]))
      AND ($3::bigint IS NULL OR (publisher_id, id) > ($3, $4 COLLATE "C"))
    ORDER BY publisher_id, id LIMIT $5 FOR NO KEY UPDATE SKIP LOCKED
    """)

  fileprivate static let rekeyRow = PostgresStatement(
    "rekey row",
    """
    UPDATE webhook_endpoints SET secrets = $3, secrets_key = $4, put_key = $5 WHERE publisher_id = $1 AND id = $2
    """)
}
