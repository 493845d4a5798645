import CPQ
import Glibc

/// Runs one prepared statement over bare libpq in pipeline mode: the floor of the reads through a gateway.
///
/// Each statement is a transaction of its own and asks for one customer; the gateway's asks for all of a turn of its
/// loop. Nothing looks into the rows.
struct StatementBenchmark {
  let url: String
  /// Its parameters are arrays of publishers and customers.
  let sql: String
  let connections: Int
  /// The statements under way on all connections together.
  let inFlight: Int

  private final class Connection {
    let raw: OpaquePointer
    var left = 0

    init(_ url: String, _ sql: String) throws {
      raw = PQconnectdb(url)!
      guard PQstatus(raw) == CONNECTION_OK else { throw failure("connect") }
      let prepared = PQprepare(raw, "floor", sql, 0, nil)
      defer { PQclear(prepared) }
      guard PQresultStatus(prepared) == PGRES_COMMAND_OK else { throw failure("prepare") }
      guard PQsetnonblocking(raw, 1) == 0, PQenterPipelineMode(raw) == 1 else { throw failure("pipeline mode") }
    }

    deinit { PQfinish(raw) }

    func failure(_ operation: String) -> Unexpected {
      Unexpected(description: "\(operation): \(String(cString: PQerrorMessage(raw)))")
    }

    func send(_ customer: String) throws {
      let sent = "{\(customer)}".withCString { customer in
        "{\(Backend.publisher)}".withCString { publisher in
          PQsendQueryPrepared(raw, "floor", 2, [publisher, customer], nil, nil, 1)
        }
      }
      guard sent == 1, countersign_pq_sync(raw) == 1 else { throw failure("send") }
      left += 1
    }

    /// Reads what has come; returns how many statements are done.
    func receive() throws -> Int {
      guard PQconsumeInput(raw) == 1 else { throw failure("receive") }
      var done = 0
      while left > 0, PQisBusy(raw) == 0 {
        // Without a result, the results of one statement are over.
        guard let result = PQgetResult(raw) else { continue }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK:
          guard PQntuples(result) > 0 else { throw Unexpected(description: "the statement finds no row") }
        case PGRES_PIPELINE_SYNC: (done, left) = (done + 1, left - 1)
        default: throw failure("the statement")
        }
      }
      return done
    }
  }

  /// - Parameter customers: the numbers of the customers, one for each statement.
  func run(_ customers: [Int]) throws -> [String: Double] {
    let names = customers.map { Backend.customer($0) }
    let open = try (0..<connections).map { _ in try Connection(url, sql) }
    var (next, done) = (0, 0)
    func fill(_ connection: Connection) throws {
      while connection.left < max(1, inFlight / connections), next < names.count {
        try connection.send(names[next])
        next += 1
      }
    }
    let start = Usage()
    for connection in open { try fill(connection) }
    while done < names.count {
      var watched = open.map { connection in
        pollfd(
          fd: PQsocket(connection.raw), events: Int16(POLLIN | (PQflush(connection.raw) == 1 ? POLLOUT : 0)),
          revents: 0)
      }
      guard poll(&watched, nfds_t(watched.count), 10_000) > 0 else {
        throw Unexpected(description: "no answer from the ledger")
      }
      for (connection, entry) in zip(open, watched) where entry.revents & Int16(POLLIN) != 0 {
        done += try connection.receive()
        try fill(connection)
      }
    }
    return start.until(Usage(), jobs: names.count)
  }
}
