import Domain
import EventLoop
import Observability
import TestSupport
import Testing

@testable import Worker

/// The places of jobs.
@LoopActor
struct JobPlacesTests {
  private final class Clock {
    var now = Duration.zero
  }

  @Test func `a job that waits gets the place that comes free`() async throws {
    let places = JobPlaces(concurrency: 1) { .zero }
    let first = try #require(await places.take(1, .usual))
    let second = Task { @LoopActor in await places.take(1, .usual) }
    try await eventually("the second job waits") { places.waiting == 1 }
    places.end(first)
    #expect(await second.value == first)
    #expect(places.waiting == 0 && places.shares.all.count == 1)
  }

  @Test func `the metrics tell how many places there are, and how many are taken`() async throws {
    let places = JobPlaces(concurrency: 3) { .zero }
    let metrics = Metrics()
    PlaceMetrics.register(places, in: metrics)
    func tells(_ taken: Int) -> Bool {
      metrics.text().contains("\ncountersign_job_slots 4\n")
        && metrics.text().contains("\ncountersign_jobs_in_flight \(taken)\n")
    }
    #expect(tells(0), "the numbers are there from the start")
    let place = try #require(await places.take(1, .usual))
    #expect(tells(1))
    places.end(place)
    #expect(tells(0))
  }

  @Test func `a job that waits in vain goes away`() async throws {
    let places = JobPlaces(concurrency: 1, patience: .milliseconds(1)) { .zero }
    let first = try #require(await places.take(1, .usual))
    #expect(await places.take(1, .usual) == nil)
    #expect(places.waiting == 0)
    places.end(first)
    #expect(places.shares.all.count == 0)
  }

  @Test func `jobs of a slow publisher do not wait`() async throws {
    let clock = Clock()
    let places = JobPlaces(concurrency: 1, patience: .seconds(120)) { clock.now }
    _ = try #require(await places.take(1, .usual))
    clock.now = .seconds(2)
    #expect(await places.take(1, .usual) == nil)
  }

  @Test func `with one place that comes free, as many wait no longer as may go on`() async throws {
    let places = JobPlaces(concurrency: 8, patience: .seconds(120)) { .zero }
    // One of ten places is free, of which a publisher may hold three.
    for _ in 0..<5 { _ = places.hold(2, .usual) }
    let held = (0..<3).map { _ in places.hold(1, .usual) }
    _ = places.hold(3, .usual)
    let second = Task { @LoopActor in await places.take(2, .usual) }
    try await eventually("the second publisher waits") { places.waiting == 1 }
    let first = Task { @LoopActor in await places.take(1, .usual) }
    try await eventually("both wait") { places.waiting == 2 }
    places.end(held[0])
    #expect(await second.value != nil)
    #expect(await first.value != nil)
  }

  @Test func `a place goes to who came first, whatever the publisher`() async throws {
    let places = JobPlaces(concurrency: 8, patience: .seconds(120)) { .zero }
    _ = places.hold(1, .usual)
    _ = places.hold(2, .usual)
    let held = (0..<8).map { _ in places.hold(3, .usual) }
    let first = Task { @LoopActor in await places.take(2, .usual) }
    try await eventually("the second publisher waits") { places.waiting == 1 }
    let second = Task { @LoopActor in await places.take(1, .usual) }
    try await eventually("both wait") { places.waiting == 2 }
    places.end(held[0])
    #expect(await first.value != nil)
    #expect(places.waiting == 1, "the other one has not got the same place")
    places.end(held[1])
    #expect(await second.value != nil)
  }
}
