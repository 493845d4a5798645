import AMQP
import Postgres
import Redis

/// A server that refused the first connection of a role or of a command, for a reason that only a person can mend.
public struct StartRefusal: Error, Sendable, CustomStringConvertible {
  /// What was tried, with what, what went wrong, and what to do.
  public let description: String

  /// Judges the failure of a connection; `nil` if it is worth a wait, as for a server that cannot be reached.
  public init?(_ error: any Error) {
    let (server, key, more): (String, String, String)
    switch error {
    case let error as PostgresError where error.isRefusal:
      (server, key, more) = ("PostgreSQL", "ledger", "database")
    case let error as AMQPError where error.isRefusal:
      (server, key, more) = ("RabbitMQ", "rabbitmq", "virtual host")
    case let error as RedisError where error.isRefusal:
      (server, key, more) = ("Redis", "redis", "database")
    default: return nil
    }
    description =
      "\(server) refuses the connection: \(error). Check user and \(more) in \(key).url, \(key).passwordFile and "
      + "\(key).caFile, or what \(server) knows of them"
  }
}
