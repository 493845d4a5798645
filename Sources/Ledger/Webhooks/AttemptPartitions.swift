import Formats

/// The partitions of the log of attempts: one for each day in UTC. Decided from values alone.
struct AttemptPartitions: Equatable {
  /// How many days the ledger makes ahead. So nobody has to be there at midnight, nor for a week.
  static let daysAhead: Int64 = 7

  /// The days whose partitions are missing, as days since 1970.
  let missing: [Int64]
  /// The partitions in which every attempt is too old.
  let old: [String]

  /// - Parameters:
  ///   - today: days since 1970.
  ///   - existing: the names of the partitions.
  ///   - retention: how many days an attempt stays, at least.
  init(today: Int64, existing: [String], retention: Int64) {
    let days = existing.compactMap { name in Self.day(name).map { (day: $0, name: name) } }
    let known = Set(days.map(\.day))
    // An attempt may have ended yesterday and be written today.
    missing = (today - 1...today + Self.daysAhead).filter { !known.contains($0) }
    old = days.filter { $0.day < min(today - 1, today - retention) }.sorted { $0.day < $1.day }.map(\.name)
  }

  /// The name of a day's partition, such as `attempts_2026_11_22`.
  static func name(_ day: Int64) -> String {
    prefix + start(day).prefix(10).split(separator: "-").joined(separator: "_")
  }

  /// The day of a partition; `nil` for a table that somebody else attached.
  static func day(_ name: String) -> Int64? {
    guard name.hasPrefix(prefix) else { return nil }
    let date = name.dropFirst(prefix.count).split(separator: "_").joined(separator: "-")
    guard let day = milliseconds(rfc3339: date + "T00:00:00Z").map({ $0 / length }) else { return nil }
    return Self.name(day) == name ? day : nil
  }

  /// The beginning of a day, as PostgreSQL reads it.
  static func start(_ day: Int64) -> String { rfc3339(milliseconds: day * length) }

  private static let prefix = "attempts_"
  private static let length: Int64 = 86_400_000
}
