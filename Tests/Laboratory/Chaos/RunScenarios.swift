import EventLoop
import Fleets

/// Runs the scenarios that the arguments name; prints a line of JSON for each and returns the exit status.
@LoopActor
func runScenarios(_ arguments: [String]) async -> Int32 {
  /// Returns the value behind an option.
  func value(_ name: String) -> String? {
    arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
  }

  if arguments.first == "--list" {
    for scenario in Scenario.fitting(cluster: arguments.contains("--cluster")) {
      print("\(scenario.name.padded(to: 18))\(scenario.what)")
    }
    return 0
  }
  var names = arguments[...]
  while let index = names.firstIndex(where: { $0.hasPrefix("--") }) {
    names.removeSubrange(index..<min(names.endIndex, index + (names[index] == "--quick" ? 1 : 2)))
  }
  guard let servers = TestServers.current else {
    print("there are no servers; use ops/chaos")
    return 2
  }
  let fitting = Scenario.fitting(cluster: servers.isCluster)
  if let name = names.first(where: { name in !fitting.contains { $0.name == name } }) {
    print("there is no scenario \(name) for these servers; ops/chaos --list lists them")
    return 2
  }
  let chosen = fitting.filter { names.isEmpty || names.contains($0.name) }
  if let lacking = chosen.first(where: \.lacksRights), !names.isEmpty {
    print("\(lacking.name) needs root: for a network of each node, or a small disk")
    return 2
  }
  var size = arguments.contains("--quick") ? Chaos.Size.quick : Chaos.Size()
  if let count = value("--registrations").flatMap({ Int($0) }) { size.registrations = count }
  if let count = value("--transactions").flatMap({ Int($0) }) { size.transactions = count }
  if let rate = value("--rate").flatMap({ Double($0) }) { size.perSecond = rate }
  let seed = value("--seed").flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
  var failures = 0
  for scenario in chosen where !scenario.lacksRights {
    let row = await Row(scenario, size, seed: seed)
    if !row.holds { failures += 1 }
    row.write()
  }
  return failures == 0 ? 0 : 1
}
