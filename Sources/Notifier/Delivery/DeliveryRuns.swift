import Domain
import EventLoop
import Messaging
import Service

/// The deliveries in hand: each message becomes a run, and all runs end before the notifier does.
@LoopActor
final class DeliveryRuns: RoleService {
  private let dependencies: Dependencies
  private let running: RunningTasks
  private let line: StartingLine

  /// What the runs need.
  struct Dependencies {
    /// Notes what is delivered again.
    let redeliveries: Redeliveries
    /// Delivers a message's event, and settles the message.
    let work: @LoopActor (any ReceivedMessage, Suspicion, StartingLine.Start) async -> Void
  }

  /// - Parameters:
  ///   - running: has the tasks of the runs.
  ///   - line: has the messages whose runs have not begun.
  init(_ dependencies: Dependencies, _ running: RunningTasks, _ line: StartingLine) {
    (self.dependencies, self.running, self.line) = (dependencies, running, line)
  }

  /// Takes a message, also one that comes while the consumer is being cancelled: otherwise the broker gives it to
  /// another notifier. Its run begins at its publisher's turn.
  ///
  /// - Parameter crowd: the class of the queue that had it.
  func take(_ received: any ReceivedMessage, of crowd: EventCrowd) {
    dependencies.redeliveries.note(received.delivery)
    let suspicion = Suspicion(received.delivery)
    // A suspect has a line of its own.
    if suspicion.isSuspect { return begin(received, suspicion, .free) }
    line.join(
      suspicion.publisherId ?? 0, crowd,
      StartingLine.Waiting(
        begin: { [self] in begin(received, suspicion, $0) }, giveBack: { received.requeue() }))
  }

  private func begin(_ received: any ReceivedMessage, _ suspicion: Suspicion, _ start: StartingLine.Start) {
    running.start { [dependencies] in
      await dependencies.work(received, suspicion, start)
      // Before the task ends: the last task of all must not end while messages wait.
      start.end()
    }
  }

  /// Does nothing: the consumer starts the runs.
  func start() {}

  /// What is in hand does not rest any more: it should end before the process does.
  func close() {
    running.close()
    line.hurry()
  }

  /// Finishes the runs, and hands back the ones that take longer.
  func stop(within grace: Duration) async {
    close()
    await running.wait(atMost: grace)
    // First what has not begun: it must not begin when a cancelled run makes room.
    line.giveBack()
    await running.finish(within: .zero)
    // And what has come since.
    line.giveBack()
  }

  /// Whether the notifier takes deliveries until further notice.
  var readiness: [ReadinessCheck] { [ReadinessCheck("not stopping") { [running] in !running.isClosed }] }
}

extension DeliveryRuns.Dependencies {
  /// Takes those of a notifier.
  @LoopActor
  init(_ runs: DeliveryRun.Dependencies) {
    self.init(
      redeliveries: Redeliveries(runs.metrics.redeliveries, runs.context.log),
      work: { await DeliveryRun($0, $1, $2, with: runs).run() })
  }
}
