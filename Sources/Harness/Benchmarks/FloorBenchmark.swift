import AMQP
import Domain
import EventLoop
import Messaging
import Store

/// A worker without Apple and without cryptography: the same messages, confirms, acknowledgements and Redis commands.
@LoopActor
struct FloorBenchmark {
  let backend: Backend

  func run(count: Int, prefetch: Int) async throws -> [String: Double] {
    try await backend.open()
    let done = LoopSignal()
    var finished = 0
    var failure: (any Error)?
    var start: Usage?
    let consumer = backend.jobs(prefetch: prefetch) { received in
      if start == nil { start = Usage() }
      Task { @LoopActor in
        do { try await run(received) } catch { failure = error }
        finished += 1
        if finished == count || failure != nil { done.notify() }
      }
    }
    consumer.start()
    while finished < count, failure == nil {
      let before = finished
      await done.wait(atMost: .seconds(60))
      if finished == before { failure = Unexpected(description: "\(finished) of \(count) jobs came, and no more") }
    }
    let end = Usage()
    await consumer.stop()
    await backend.close()
    if let failure { throw failure }
    guard let start else { throw Unexpected(description: "no job came") }
    return start.until(end, jobs: count)
  }

  private func run(_ received: AMQPConsumer.Received) async throws {
    let (job, _) = try JobMessage.read(received.delivery)
    let answer = try await backend.store.takeLease(
      job, for: .seconds(60), sweepAfter: Backend.sweepAfter, places: Backend.places)
    guard case .taken(let lease) = answer else { throw Unexpected(description: "\(job.synchronizationId): \(answer)") }
    let outcome = Outcome(
      .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: job.transactionId,
      environment: "Production")
    let finalized = try await backend.store.finalize(
      job, lease, outcome, retention: .seconds(3600), sweepAfter: Backend.sweepAfter,
      route: Backend.places[0].name, reuse: .seconds(3))
    guard case .finalized(let synchronization) = finalized,
      let event = PurchaseEvent(
        of: synchronization,
        id: EventMessage.id(publisher: synchronization.publisherId, synchronization: synchronization.id))
    else { throw Unexpected(description: "\(job.synchronizationId) is stale") }
    try await backend.publisher.publishSurely(EventMessage.message(event, exchange: backend.topology.events))
    received.acknowledge()
    try await backend.store.told(job)
  }
}
