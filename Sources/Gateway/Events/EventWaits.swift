import Domain
import EventLoop
import Ledger
import Service

/// The requests that wait for events of their publishers.
///
/// A waiting request costs an object, a timer and its suspended task: no thread, and no connection to PostgreSQL. One
/// look asks the ledger for all of them together, twice a second while anybody waits.
@LoopActor
final class EventWaits: RoleService {
  /// Asks which readers have something to read; returns their places in the list.
  typealias Look = @LoopActor ([EventFeed.Reader]) async throws -> [Int]

  /// The most requests that wait at a gateway, of all publishers. One publisher's may be three of four.
  nonisolated static let mostOfGateway = 256

  /// The most requests that wait, so that others have connections too.
  nonisolated static func most(ofConnections connections: Int) -> Int { min(mostOfGateway, max(1, connections / 8)) }

  private struct Wait {
    let reader: EventFeed.Reader
    let waiter: CheckedContinuation<Bool, Never>
    let timer: LoopTimer
  }

  private let look: Look
  private let interval: Duration
  private var requests: PublisherLimit
  private var waits: [Int: Wait] = [:]
  private var lastNumber = 0
  private let looking = RunningTasks()
  private var isStopped = false

  /// How many requests wait now.
  var count: Int { requests.count }

  /// - Parameter most: the most requests that wait at a time.
  init(most: Int, every interval: Duration = .milliseconds(500), look: @escaping Look) {
    (self.look, self.interval) = (look, interval)
    requests = PublisherLimit(most: most)
  }

  /// Counts a request that will wait; `false` when as many wait as may.
  func begin(of publisher: PublisherId) -> Bool { requests.begin(of: publisher) }

  /// Ends what ``begin(of:)`` has begun.
  func end(of publisher: PublisherId) { requests.end(of: publisher) }

  /// Returns `true` when the publisher has an event behind a position, and `false` when the time is over or the gateway
  /// stops.
  func wait(_ publisher: PublisherId, _ position: EventPosition, atMost limit: Duration) async -> Bool {
    guard !isStopped else { return false }
    lastNumber += 1
    let number = lastNumber
    let timer = LoopTimer { [weak self] in self?.wake(number, false) }
    return await withCheckedContinuation { waiter in
      let reader = EventFeed.Reader(publisherId: publisher, position: position)
      waits[number] = Wait(reader: reader, waiter: waiter, timer: timer)
      timer.start(after: limit)
      if looking.count == 0 { looking.start { [self] in await lookWhileAnybodyWaits() } }
    }
  }

  /// Does nothing: requests begin to wait.
  func start() {}

  /// Ends all waits, because nothing may happen within the grace period. From now on nobody waits.
  func close() {
    isStopped = true
    for number in waits.keys { wake(number, false) }
  }

  /// Ends the looks, and waits for none: nobody needs its answer.
  func stop(within grace: Duration) async {
    close()
    looking.cancel()
  }

  private func lookWhileAnybodyWaits() async {
    while !waits.isEmpty {
      do {
        try await EventLoop.sleep(for: interval)
        let asked = waits.sorted { $0.key < $1.key }
        guard !asked.isEmpty else { continue }
        for place in try await look(asked.map(\.value.reader))
        where asked.indices.contains(place) { wake(asked[place].key, true) }
      } catch is CancellationError {
        return close()
      } catch {
        // The ledger is away. Whoever waits for longer than that finds out when its time is over.
      }
    }
  }

  /// The wait leaves the list before it is resumed.
  private func wake(_ number: Int, _ hasEvents: Bool) {
    guard let wait = waits.removeValue(forKey: number) else { return }
    wait.timer.close()
    wait.waiter.resume(returning: hasEvents)
  }
}
