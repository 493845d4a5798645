import Testing

@testable import Postgres

/// Which of two servers that take writes is the old one.
struct PostgresTimelineTests {
  @Test func `a promoted standby replaces its primary, and nothing else`() {
    let old = PostgresTimeline(system: 7, number: 3)
    #expect(old.isReplaced(by: PostgresTimeline(system: 7, number: 4)))
    #expect(!old.isReplaced(by: old))
    #expect(!old.isReplaced(by: PostgresTimeline(system: 7, number: 2)))
    // Another database altogether, such as one after an upgrade.
    #expect(!old.isReplaced(by: PostgresTimeline(system: 8, number: 4)))
  }

  @Test func `the sentence says what to do`() {
    let text = PostgresTimeline(system: 7, number: 3).refusal("a:5432", newest: PostgresTimeline(system: 7, number: 4))
    #expect(text.hasPrefix("a:5432 writes timeline 3, but another server was promoted and writes 4. Stop the old"))
  }
}
