import Domain
import Testing

/// When Notification History is read, and how much of it.
struct HistoryPlanTests {
  private static let now: Int64 = 1_800_000_000_000
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour
  private let plan = HistoryPlan(interval: hour)

  private func source(
    _ environment: Environment = "Production", read: Int64? = nil, posted: Int64? = nil, silence: Int64? = nil
  ) -> NotificationSource {
    NotificationSource(
      .init(publisherId: 1, bundleId: "com.example.app", environment: environment),
      readThrough: read.map { Self.now - $0 }, lastReceivedAt: posted.map { Self.now - $0 }, longestSilence: silence)
  }

  @Test func `an app that nobody has read is due, with all that Apple has`() {
    #expect(plan.isDue(source(), now: Self.now))
    for (environment, days) in [(Environment.production, Int64(180)), (.sandbox, 30)] {
      let range = plan.range(of: source(environment), now: Self.now)
      #expect(range.end == Self.now)
      // A little less, so that Apple does not refuse it where the clocks differ.
      #expect(range.start > Self.now - days * Self.day && range.start < Self.now - days * Self.day + Self.hour)
    }
  }

  @Test func `the next reading comes an interval later, or up to a tenth more`() {
    #expect(!plan.isDue(source(read: Self.hour - 1), now: Self.now))
    #expect(plan.isDue(source(read: Self.hour + Self.hour / 10), now: Self.now))
  }

  @Test func `apps are not all due in one second`() {
    let waits = Set(
      (0..<40).map { id in
        (0...60).first { minute in
          let source = NotificationSource(
            .init(publisherId: PublisherId(Int64(id)), bundleId: "com.example.app", environment: "Production"),
            readThrough: Self.now)
          return plan.isDue(source, now: Self.now + Int64(minute) * 60_000 + Self.hour)
        }
      })
    #expect(waits.count >= 4 && waits.allSatisfy { $0.map { $0 <= 6 } ?? false }, "\(waits)")
  }

  @Test func `after an outage it is due at once, and reaches behind its last reading`() {
    let source = source(read: 30 * Self.hour)
    #expect(plan.isDue(source, now: Self.now))
    #expect(plan.range(of: source, now: Self.now).start == Self.now - 102 * Self.hour)
  }

  @Test func `a reading never asks for more than Apple has`() {
    let late = plan.range(of: source("Sandbox", read: 40 * Self.day), now: Self.now)
    #expect(late == plan.range(of: source("Sandbox"), now: Self.now))
    let nearly = plan.range(of: source("Sandbox", read: 28 * Self.day), now: Self.now)
    #expect(nearly == plan.range(of: source("Sandbox"), now: Self.now))
  }

  @Test func `an app that has just fallen silent is due once`() {
    let minute: Int64 = 60_000
    // It posted 49 hours ago, and is never silent for more than a day: an hour ago it fell silent.
    #expect(
      plan.isDue(
        source(read: Self.hour / 2 + Self.hour / 2 - minute, posted: 49 * Self.hour, silence: Self.day),
        now: Self.now) == false)
    #expect(plan.isDue(source(read: Self.hour / 2, posted: 48 * Self.hour + minute, silence: Self.day), now: Self.now))
    #expect(!plan.isDue(source(read: 0, posted: 48 * Self.hour + minute, silence: Self.day), now: Self.now))
    #expect(!plan.isDue(source(read: Self.hour / 2, posted: 47 * Self.hour, silence: Self.day), now: Self.now))
  }

  @Test func `an app is silent after twice its longest silence, and never within a day`() {
    #expect(source(posted: 49 * Self.hour, silence: Self.day).isSilent(at: Self.now))
    #expect(!source(posted: 47 * Self.hour, silence: Self.day).isSilent(at: Self.now))
    #expect(!source(posted: 23 * Self.hour, silence: Self.hour).isSilent(at: Self.now))
    #expect(source(posted: 25 * Self.hour, silence: Self.hour).isSilent(at: Self.now))
  }

  @Test func `an app without a habit is not silent`() {
    #expect(!source().isSilent(at: Self.now))
    #expect(!source(posted: 90 * Self.day).isSilent(at: Self.now))
    #expect(!source(posted: 90 * Self.day, silence: 0).isSilent(at: Self.now))
  }
}
