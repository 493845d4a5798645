import AMQP
import Domain
import EventLoop
import Observability
import TestSupport
import Testing

@testable import Messaging
@testable import Notifier
@testable import Service

/// The deliveries in hand of a notifier, from the message to the notifier's stop.
@LoopActor
struct DeliveryRunsTests {
  private let metrics = Metrics()
  private let running = RunningTasks()
  private let line = StartingLine()
  private let gate = Gate()

  /// A message of the deliveries' queue, and its fate.
  @LoopActor
  private final class MessageByValue: ReceivedMessage {
    enum Fate: Equatable { case acknowledged, requeued }

    let delivery: AMQPDelivery
    private(set) var fate: Fate?

    init(_ id: String, headers: [String: AMQPValue] = [:]) {
      delivery = AMQPDelivery(of: AMQPMessage(exchange: "", routingKey: "q", messageID: id, headers: headers, body: []))
    }

    func acknowledge() { fate = .acknowledged }
    func requeue() { fate = .requeued }
    func requeueLater() async { fate = .requeued }
  }

  private func runs(
    _ work: @escaping @LoopActor (any ReceivedMessage, Suspicion, StartingLine.Start) async -> Void
  ) -> DeliveryRuns {
    let counter = metrics.counter("countersign_redeliveries_total", "Again.")
    return DeliveryRuns(
      DeliveryRuns.Dependencies(redeliveries: Redeliveries(counter, Log(level: .error)), work: work), running, line)
  }

  /// Messages of a publisher with few events, one more than may begin at once.
  private func take(_ count: Int, _ runs: DeliveryRuns) -> [MessageByValue] {
    let messages = (0..<count).map { MessageByValue("evt_\($0)") }
    for message in messages { runs.take(message, of: .few) }
    return messages
  }

  @Test func `a message becomes a run, and the next one begins when it ends`() async throws {
    let runs = runs { [gate] message, _, _ in
      await gate.pass()
      message.acknowledge()
    }
    let messages = take(StartingLine.most.usual + 1, runs)
    try await gate.holds(StartingLine.most.usual)
    #expect(line.count == 1 && running.count == StartingLine.most.usual)
    gate.open()
    await runs.stop(within: .patience)
    #expect(messages.allSatisfy { $0.fate == .acknowledged })
    #expect(line.count == 0 && running.count == 0)
  }

  @Test func `a run that makes room lets the next one begin before it ends`() async throws {
    let runs = runs { [gate] message, _, start in
      start.end()
      await gate.pass()
      message.acknowledge()
    }
    let messages = take(StartingLine.most.usual + 1, runs)
    try await gate.holds(StartingLine.most.usual + 1)
    gate.open()
    await runs.stop(within: .patience)
    #expect(messages.allSatisfy { $0.fate == .acknowledged })
  }

  @Test func `a suspect begins at once, whoever is on the way`() async throws {
    var suspects: [String] = []
    let runs = runs { [gate] message, suspicion, _ in
      if suspicion.isSuspect {
        suspects.append(message.delivery.properties.messageID ?? "")
      } else {
        await gate.pass()
      }
      message.acknowledge()
    }
    _ = take(StartingLine.most.usual + 1, runs)
    try await gate.holds(StartingLine.most.usual)
    let suspect = MessageByValue("evt_s", headers: [Delivery.crashesHeader: .int(1)])
    runs.take(suspect, of: .few)
    try await eventually("the suspect has run") { suspect.fate == .acknowledged }
    #expect(suspects == ["evt_s"] && line.count == 1)
    gate.open()
    await runs.stop(within: .patience)
  }

  @Test func `a message that comes while the consumer is being cancelled is run, too`() async {
    let runs = runs { message, _, _ in message.acknowledge() }
    #expect(runs.readiness.allSatisfy { $0.result().isReady })
    runs.close()
    #expect(runs.readiness.allSatisfy { !$0.result().isReady })
    let message = MessageByValue("evt_1")
    runs.take(message, of: .burst)
    await runs.stop(within: .patience)
    #expect(message.fate == .acknowledged)
  }

  @Test func `after the grace the runs are cancelled, and what has not begun is given back`() async throws {
    let begun = Mailbox<String>(of: "runs")
    let runs = runs { message, _, _ in
      begun.put(message.delivery.properties.messageID ?? "")
      try? await EventLoop.sleep(for: .patience)
      message.requeue()
    }
    let messages = take(StartingLine.most.usual + 10, runs)
    try await begun.wait(for: StartingLine.most.usual)
    await runs.stop(within: .zero)
    #expect(line.count == 0)
    // On a busy machine the cancelled runs may end after the stop.
    try await eventually("all runs have ended") { running.count == 0 }
    #expect(messages.allSatisfy { $0.fate == .requeued })
    // None began when a cancelled one made room.
    #expect(begun.all.count == StartingLine.most.usual)
  }
}
