import EventLoop
import Glibc
Task { @LoopActor in
  let start = ContinuousClock.now
  try await EventLoop.sleep(for: .milliseconds(50))
  print(ContinuousClock.now - start, EventLoop.process.isCurrent)
  print(try await EventLoop.resolve("localhost"), EventLoop.process.isCurrent)
  let b = Counter()
  await withTaskGroup(of: Void.self) { g in for _ in 0..<100000 { g.addTask { @LoopActor in await Task.yield(); b.n += 1 } } }
  print(b.n, ContinuousClock.now - start)
  exit(0)
}
while true { pause() }
@LoopActor final class Counter { var n = 0 }
