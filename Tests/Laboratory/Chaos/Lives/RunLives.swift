import EventLoop
import Fleets
import Glibc

/// Runs random lives as the arguments say; prints how it goes, then a line of JSON, and returns the exit status.
@LoopActor
func runLives(_ arguments: [String]) async -> Int32 {
  func value(_ name: String) -> String? {
    arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
  }
  guard TestServers.current != nil else {
    print("there are no servers; use ops/chaos")
    return 2
  }
  var size = LifeRun.Size()
  if let lives = value("--lives").flatMap({ Int($0) }) { size.lives = lives }
  if let seconds = value("--seconds").flatMap({ Double($0) }) { size.seconds = seconds }
  let seed = value("--seed").flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
  do {
    let row = try await LifeRun.run(size, seed: seed)
    tell(try row.line())
    return row.holds ? 0 : 1
  } catch {
    tell("the run ended: \(error)")
    return 2
  }
}

/// Prints a line at once, also into a pipe.
func tell(_ text: String) {
  let line = Array((text + "\n").utf8)
  _ = write(STDOUT_FILENO, line, line.count)
}
