import AMQP
import Domain
import EventLoop
import Ledger
import Messaging
import Postgres

/// The floor of the intake of notifications: the same statements, without HTTP and without cryptography. So many are
/// under way at a time as the gateway has connections.
@LoopActor
struct KeepBenchmark {
  let backend: Backend
  /// Whether each kept notification also wakes a worker, as in a gateway.
  let wakes: Bool
  /// As many as a gateway has by default.
  private static let connections = 2

  func run(_ notifications: SignedNotifications, from first: Int, inFlight: Int) async throws -> [String: Double] {
    try await backend.open()
    var endpoint = try PostgresEndpoint(url: backend.place.ledger, password: nil, caFile: nil)
    endpoint.applicationName = "countersign floor"
    endpoint.sessionSettings = Commits.sessionSettings
    let ledger = PostgresClient(endpoint, connections: Self.connections)
    ledger.start()
    for _ in 0..<500 where !ledger.isReady { try await EventLoop.sleep(for: .milliseconds(20)) }
    if let failure = ledger.failure { throw failure }
    let rows = notifications.lines.enumerated().map { row($0.offset + first, $0.element) }
    let store = NotificationStore(ledger)
    var next = 0
    let start = Usage()
    let senders = (0..<inFlight).map { _ in
      Task { @LoopActor in
        while next < rows.count {
          let row = rows[next]
          next += 1
          guard try await store.keep([row]).count == 1 else { throw Unexpected(description: "\(row.uuid) is not new") }
          if wakes { wake(row) }
        }
      }
    }
    for sender in senders { try await sender.value }
    let result = start.until(Usage(), jobs: rows.count)
    await ledger.stop()
    await backend.close()
    return result
  }

  private func row(_ number: Int, _ line: SignedNotifications.Line) -> KeptNotification {
    KeptNotification(
      publisherId: Backend.publisher, uuid: "floor-\(number)", type: "SUBSCRIBED", subtype: "INITIAL_BUY",
      environment: "Production", bundleId: "com.example.app",
      originalTransactionId: OriginalTransactionId(line.transactionId),
      signedDate: unixMilliseconds(), source: .apple, body: Array(line.signedPayload.utf8))
  }

  /// As in a gateway, nobody waits for the confirm.
  private func wake(_ row: KeptNotification) {
    Task.immediate { @LoopActor in
      try? await backend.publisher.publish(
        NotificationMessage.message(row.publisherId, row.uuid, queue: backend.topology.notifications))
    }
  }
}
