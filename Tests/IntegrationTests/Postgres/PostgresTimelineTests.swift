import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

@testable import Postgres

/// A server in whose place another one was promoted.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresTimelineTests {
  @Test func `an account of a fleet reads the timeline`() async throws {
    let url = TestServers.current!.ledgerURL(database: "postgres")
    let connection = try await PostgresConnection.open(
      try PostgresEndpoint(url: url, password: nil, caFile: nil).patient, newest: nil)
    let timeline = try #require(connection.timeline)
    #expect(timeline.system != 0 && timeline.number >= 1)
    connection.close(.closed, because: "the test is over")
  }

  @Test func `a server that was replaced loses its connections, and gets no more`() async throws {
    let losses = Mailbox<String>(of: "losses of the connections")
    let client = PostgresClient(PostgresTestServer.endpoint!.patient, connections: 2) { change in
      if case .lost(let error, _) = change { losses.put(error.cause) }
    }
    client.start()
    try await eventually("ready") { client.isReady }
    let connection = try await PostgresConnection.open(PostgresTestServer.endpoint!.patient, newest: nil)
    let timeline = try #require(connection.timeline)
    connection.close(.closed, because: "only its timeline was needed")

    client.leaveReplacedServers(PostgresTimeline(system: timeline.system, number: timeline.number + 1))
    #expect(!client.isReady)
    let sentence = "writes timeline \(timeline.number), but another server was promoted"
    // First the open connections, and then the ones that the client tries to open.
    try await losses.wait { $0.filter { $0.contains(sentence) }.count >= 3 }
    #expect(!client.isReady)
    #expect(client.failure?.cause.contains(sentence) == true)
    await client.stop()
  }
}
