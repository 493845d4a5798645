import Coordination
import Formats

/// The servers behind the fleet: which connections to them are up, and how much they hold.
struct FleetServers: Sendable, Equatable {
  /// The size of the ledger's database.
  var ledgerBytes: Int64?
  /// The memory that Redis uses, and the most that it may use; `nil` without a limit.
  var redisBytes: Int64?
  var redisLimit: Int64?

  struct Row: Sendable, Equatable {
    let name: String
    /// The working connections of the processes.
    let up: Int
    let all: Int
    /// How much it holds, in words.
    var holds: String?
  }

  /// One row for each server. Connections to RabbitMQ have names by their use. Those of subscribers have their own
  /// alarms.
  func rows(_ beats: [FleetBeat]) -> [Row] {
    let readings = beats.filter { !$0.isSilent }.flatMap { $0.values("countersign_connection_up") }
    func row(_ name: String, _ holds: String?, _ isMeant: (String) -> Bool) -> Row {
      let meant = readings.filter { isMeant($0.labels.first ?? "") }
      return Row(name: name, up: meant.count { $0.value == 1 }, all: meant.count, holds: holds)
    }
    let limit = redisLimit.map { " of \(ConsoleNumber.mebibytes(Double($0)))" } ?? ""
    return [
      row("Ledger", ledgerBytes.map { ConsoleNumber.mebibytes(Double($0)) }) { $0 == "ledger" },
      row("Redis", redisBytes.map { ConsoleNumber.mebibytes(Double($0)) + limit }) { $0 == "redis" },
      row("RabbitMQ", "see “What waits”") { $0 != "ledger" && $0 != "redis" && !$0.hasPrefix("subscriber ") },
    ]
  }

  /// Reads the answer to `INFO memory`: what is used, and the most. A limit of 0 is none.
  static func memory(ofInfo info: String) -> (used: Int64?, most: Int64?) {
    func number(_ key: String) -> Int64? {
      info.split(whereSeparator: \.isNewline).first { $0.hasPrefix(key) }
        .flatMap { Int64($0.dropFirst(key.count)) }.flatMap { $0 >= 0 ? $0 : nil }
    }
    return (number("used_memory:"), number("maxmemory:").flatMap { $0 == 0 ? nil : $0 })
  }
}
