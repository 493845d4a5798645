import AMQP
import Domain
import EventLoop
import Messaging

/// The requests that wait for the end of their synchronizations. A worker tells each end to the gateway's own queue.
///
/// A waiting request costs an object, a timer and its suspended task. No thread waits, and nobody asks the ledger in
/// the meantime.
@LoopActor
final class FinalizationWaits {
  /// The part of the queue's name that is this gateway's own.
  let name: String
  private var waits: [SynchronizationId: FinalizationWait] = [:]
  private var requests: PublisherLimit
  private var synchronizations: PublisherLimit
  /// How many requests wait now.
  var count: Int { requests.count }

  /// The most synchronizations for each request that may wait, on average.
  private static let idsEach = 8

  /// - Parameter most: the most requests that wait at a time.
  init(name: String, most: Int) {
    self.name = name
    requests = PublisherLimit(most: most)
    // Room for a longest receipt of each of two publishers, however few requests may wait.
    synchronizations = PublisherLimit(most: most * Self.idsEach + 2 * DoorRegistration.mostPurchases)
  }

  /// Begins to listen for the ends of synchronizations; `nil` when as many requests wait as may, or for as many
  /// synchronizations. One publisher's may be three of four of both: a few long receipts must not take all places.
  func begin(_ ids: [SynchronizationId], of publisher: PublisherId) -> FinalizationWait? {
    guard requests.begin(of: publisher) else { return nil }
    guard synchronizations.begin(ids.count, of: publisher) else {
      requests.end(of: publisher)
      return nil
    }
    let wait = FinalizationWait(ids)
    for id in ids { waits[id] = wait }
    return wait
  }

  /// Ends what ``begin(_:of:)`` has begun.
  func end(_ ids: [SynchronizationId], of publisher: PublisherId) {
    requests.end(of: publisher)
    synchronizations.end(ids.count, of: publisher)
    for id in ids { waits.removeValue(forKey: id) }
  }

  /// Takes a worker's reply. Nobody may wait any more: the client has got its answer, or is gone.
  func take(_ received: AMQPConsumer.Received) {
    if let reply = ReplyMessage.read(received.delivery) {
      waits[reply.synchronizationId]?.note(reply.synchronizationId, reply.result)
    }
    received.acknowledge()
  }
}

/// One request that waits for some synchronizations.
@LoopActor
final class FinalizationWait {
  /// The results that are known, by the ids of their synchronizations.
  private(set) var results: [SynchronizationId: SynchronizationResult] = [:]
  private var pending: Set<SynchronizationId>
  private var waiter: CheckedContinuation<Void, Never>?
  private var timer: LoopTimer?

  init(_ ids: [SynchronizationId]) { pending = Set(ids) }

  /// The synchronizations whose end is not known.
  var missing: [SynchronizationId] { pending.sorted() }

  /// Does not wait for a synchronization any more.
  func forget(_ id: SynchronizationId) { settle(id) }

  /// Notes a result.
  func note(_ id: SynchronizationId, _ result: SynchronizationResult) {
    guard pending.contains(id) else { return }
    results[id] = result
    settle(id)
  }

  private func settle(_ id: SynchronizationId) {
    pending.remove(id)
    if pending.isEmpty { wake() }
  }

  /// Returns when all results are known, or after a time.
  func untilFinalized(atMost limit: Duration) async {
    guard !pending.isEmpty, limit > .zero else { return }
    let timer = LoopTimer { [weak self] in self?.wake() }
    timer.start(after: limit)
    self.timer = timer
    await withCheckedContinuation { waiter = $0 }
  }

  private func wake() {
    timer?.close()
    timer = nil
    waiter?.resume()
    waiter = nil
  }
}
