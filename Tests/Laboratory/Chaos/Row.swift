import EventLoop
import FoundationEssentials
import Glibc

/// The result of one scenario, as a line of JSON. `ops/chaos` makes a table of these lines.
struct Row: Encodable {
  let scenario: String
  let what: String
  let seed: UInt64
  var faults = 0
  var attempted = 0
  var accepted = 0
  var finalized = 0
  var events = 0
  var webhooks = 0
  var lost = 0
  var duplicated = 0
  var stale = 0
  var longestDelaySeconds = 0.0
  /// How many registrations got each answer.
  var answers: [String: Int] = [:]
  var statusReads = 0
  var ledgerReads = 0
  var redeliveries = 0
  /// The faults, in order.
  var faultsInjected: [String] = []
  /// What the scenario compared, with numbers.
  var measures: [String] = []
  /// When each of Apple's endpoints got the most calls.
  var busiestStretches: [String: String] = [:]
  var holds = false
  /// The first findings that break a promise, in words, and the folder with the logs of the run.
  var problems: [String] = []

  @LoopActor
  init(_ scenario: Scenario, _ size: Chaos.Size, seed: UInt64) async {
    self.scenario = scenario.name
    self.seed = seed
    what = scenario.what
    do {
      let (history, verdict, folder) = try await Chaos.run(scenario, size: size, seed: seed)
      faults = history.faults.count
      faultsInjected = history.faults
      measures = history.measures
      statusReads = history.statusReads
      ledgerReads = history.ledgerReads
      redeliveries = history.redeliveries
      (attempted, accepted, finalized) = (verdict.attempted, verdict.accepted, verdict.finalized)
      (events, webhooks) = (verdict.events, verdict.webhooks)
      (lost, duplicated, stale) = (verdict.lost.count, verdict.duplicated.count, verdict.stale)
      longestDelaySeconds = Double(verdict.longestDelay) / 1000
      for registration in history.registrations { answers["\(registration.answer)", default: 0] += 1 }
      busiestStretches = verdict.busiestStretches
      holds = verdict.holds
      problems = verdict.lost.map { "lost: \($0)" } + verdict.duplicated + verdict.problems
      let more = problems.count - 10
      problems = Array(problems.prefix(10))
      if more > 0 { problems.append("and \(more) more") }
      if !holds { problems.append("the roles' logs are in \(folder)") }
    } catch {
      problems = ["the run ended: \(error)"]
    }
  }

  func write() {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = Array(((try? encoder.encode(self)) ?? Data()) + [0x0a])
    _ = Glibc.write(STDOUT_FILENO, line, line.count)
  }
}

extension String {
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
