import EventLoop
import TestSupport
import Testing

@testable import Service

/// The running tasks of a role.
@LoopActor
struct RunningTasksTests {
  @LoopActor
  private final class Trace {
    var lines: [String] = []
    var isOpen = false
    let gate = LoopSignal()

    func pass() async { while !isOpen, !Task.isCancelled { await gate.wait(atMost: .patience) } }
  }

  private let tasks = RunningTasks()
  private let trace = Trace()

  @Test func `a task that starts now runs until it waits, and one that does not wait is over`() async {
    tasks.startNow { [trace] in trace.lines.append("a") }
    #expect(trace.lines == ["a"] && tasks.count == 0)
    tasks.startNow { [trace] in
      trace.lines.append("b")
      await trace.pass()
      trace.lines.append("c")
    }
    #expect(trace.lines == ["a", "b"] && tasks.count == 1)
    trace.isOpen = true
    trace.gate.notify()
    await tasks.finish(within: .patience)
    #expect(trace.lines == ["a", "b", "c"] && tasks.count == 0)
  }

  @Test func `a task may start another one now`() async {
    tasks.startNow { [tasks, trace] in
      tasks.startNow { trace.lines.append("inner") }
      await trace.pass()
      tasks.startNow { await trace.pass() }
    }
    #expect(trace.lines == ["inner"] && tasks.count == 1)
    trace.isOpen = true
    trace.gate.notify()
    await tasks.finish(within: .patience)
    #expect(tasks.count == 0)
  }

  @Test func `what takes longer than the grace is cancelled, and waited for`() async {
    tasks.start { [trace] in await trace.pass() }
    tasks.startNow { [trace] in await trace.pass() }
    #expect(await tasks.finish(within: .zero, andThen: .patience) == 2)
    #expect(tasks.count == 0)
  }
}
