/// Which history of its data a server writes. A promoted standby begins one with a higher number.
///
/// It tells an old primary that nobody has stopped from the new one: both take connections that want to write.
struct PostgresTimeline: Equatable {
  /// The same for all servers that began as copies of one.
  let system: Int64
  let number: Int64

  /// Whether a standby was promoted in place of the server with this timeline.
  func isReplaced(by other: PostgresTimeline) -> Bool { system == other.system && number < other.number }

  /// A sentence for a person.
  func refusal(_ target: String, newest: PostgresTimeline) -> String {
    "\(target) writes timeline \(number), but another server was promoted and writes \(newest.number). Stop the old "
      + "server. If you have restored an older copy, restart this process"
  }
}

extension PostgresConnection {
  private static let timelineNow = PostgresStatement(
    "timeline",
    """
    SELECT system_identifier AS system,
      ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int8 AS number
    FROM pg_control_system()
    """)

  /// Reads the timeline; `nil` where the service does not let this user read it.
  func readTimeline() async throws -> PostgresTimeline? {
    do {
      guard let row = try await run([PostgresQuery(Self.timelineNow, [])])[0].first,
        let system = try row.int64("system"), let number = try row.int64("number")
      else { return nil }
      return PostgresTimeline(system: system, number: number)
    } catch let error as PostgresError {
      guard case .server = error.code else { throw error }
      return nil
    }
  }
}
