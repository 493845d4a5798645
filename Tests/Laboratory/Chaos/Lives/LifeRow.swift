import Fleets
import FoundationEssentials

/// The result of a run with random lives, as a line of JSON. `ops/chaos lives` prints it for people.
struct LifeRow: Encodable {
  let seed: UInt64
  /// The lives that the run has begun, and all at its end: an upgrade may begin another one.
  let begun: Int
  var lives = 0
  let loadSeconds: Double
  var notifications: RunningFleet.NotificationCounts?
  /// What happened to lives besides what happens by itself.
  var actions = 0
  var registrations = 0
  var accepted = 0
  /// The faults, in order.
  var faults: [String] = []
  /// From the load's end until a whole comparison found nothing; `nil` if that never happened.
  var settledSeconds: Double?
  /// From the load's end until every notification was applied.
  var appliedSeconds: Double?
  /// Accepted registrations without an event.
  var lost: [String] = []
  var differenceCount = 0
  /// The first differences between the ledger and the truth, with both sides.
  var differences: [String] = []
  /// What else does not hold.
  var problems: [String] = []
  /// Where the logs of the roles are, if they stay.
  var folder: String?

  /// The most differences that are listed.
  static let mostListed = 20

  /// Whether every promise held; ``judge()`` decides it.
  private(set) var holds = false

  init(seed: UInt64, begun: Int, loadSeconds: Double) {
    (self.seed, self.begun, self.loadSeconds) = (seed, begun, loadSeconds)
  }

  /// Notes the differences of the last comparison.
  mutating func note(_ found: [String]) {
    differenceCount = found.count
    differences = Array(found.prefix(Self.mostListed))
  }

  /// Decides whether every promise held.
  mutating func judge() {
    holds = settledSeconds != nil && appliedSeconds != nil && differenceCount == 0 && lost.isEmpty && problems.isEmpty
  }

  /// The line.
  func line() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}
