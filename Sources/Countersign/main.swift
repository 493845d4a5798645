import EventLoop
import Glibc
@LoopActor final class Counter { var n = 0; func inc() { n += 1} }
@LoopActor func demo() async throws {
  let start = ContinuousClock.now
  try await EventLoop.sleep(for: .milliseconds(50))
  print(ContinuousClock.now - start, EventLoop.process.isCurrent)
  print(try await EventLoop.resolve("localhost"), EventLoop.process.isCurrent)
  let b = Counter()
  await withTaskGroup(of: Void.self) { g in for _ in 0..<100000 { g.addTask { await Task.yield(); await b.inc() } } }
  print(b.n, ContinuousClock.now - start)
  exit(0)
}
Task { @LoopActor in try await demo() }
while true { pause() }
