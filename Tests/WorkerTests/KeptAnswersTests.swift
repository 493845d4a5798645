import Domain
import Testing

@testable import AppStore
@testable import Worker

struct KeptAnswersTests {
  private let now: Int64 = 1_800_000_000_000

  private func statuses(_ signed: String = "a.b.c") -> KeptAnswers.Statuses {
    var entry = SubscriptionStatusesResponse.LastTransaction()
    entry.status = SubscriptionStatus(rawValue: 77)
    entry.originalTransactionId = "7"
    entry.signedTransactionInfo = signed
    return [entry]
  }

  /// The answers that a later run of the same synchronization reads.
  private func read(
    _ answers: KeptAnswers, attempt: Int = 1, after milliseconds: Int64 = 0
  ) throws -> KeptAnswers? {
    KeptAnswers(try #require(answers.text), of: "s", attempt: attempt, now: now + milliseconds)
  }

  @Test func `one answer waits for the other, for ten minutes`() throws {
    var answers = KeptAnswers(of: "s", attempt: 1)
    answers.told(transaction: "a.b.c", at: now)
    #expect(answers.missing == .subscriptionStatuses && !answers.areEarlier)
    let soon = try #require(try read(answers, after: 600_000))
    #expect(soon.transaction == "a.b.c" && soon.missing == .subscriptionStatuses && soon.areEarlier)
    #expect(try read(answers, after: 600_001) == nil)
    // A further wait does not make the answer younger.
    #expect(try read(soon, after: 600_001) == nil)
    // A failed call does not make the answer wrong.
    #expect(try read(answers, attempt: 2)?.transaction == "a.b.c")
  }

  @Test func `statuses come back as they were, with their time`() throws {
    for told in [statuses(), []] {
      var answers = KeptAnswers(of: "s", attempt: 1)
      answers.told(statuses: told, at: now)
      #expect(answers.missing == .transactionInfo && answers.earlierStatusesAt == nil)
      var later = try #require(try read(answers, after: 5))
      #expect(later.statuses == told && later.earlierStatusesAt == now)
      later.told(transaction: "a.b.c", at: now + 6)
      #expect(later.earlierStatusesAt == now)
      later.told(statuses: told, at: now + 7)
      #expect(later.earlierStatusesAt == nil)
    }
  }

  @Test func `a place that an attempt is done with is asked again by the next one`() throws {
    var answers = KeptAnswers(of: "s", attempt: 1)
    answers.told(transaction: "a.b.c", at: now)
    answers.isUnauthorized = true
    answers.pass("app|Production", at: now)
    #expect(answers.transaction == nil && answers.missing == nil)
    let same = try #require(try read(answers))
    #expect(same.passed == ["app|Production"] && same.isUnauthorized && !same.areEarlier)
    let next = try #require(try read(answers, attempt: 2))
    #expect(next.passed.isEmpty && !next.isUnauthorized)
  }

  @Test func `another synchronization knows nothing of them`() throws {
    var answers = KeptAnswers(of: "s", attempt: 1)
    answers.told(transaction: "a.b.c", at: now)
    let text = try #require(answers.text)
    #expect(KeptAnswers(text, of: "t", attempt: 1, now: now) == nil)
  }

  @Test func `nothing, everything and too much are not kept`() {
    var answers = KeptAnswers(of: "s", attempt: 1)
    #expect(answers.text == nil && answers.missing == nil)
    answers.told(statuses: statuses(String(repeating: "a", count: 70_000)), at: now)
    #expect(answers.text == nil)
    answers.told(statuses: statuses(), at: now)
    answers.told(transaction: "a.b.c", at: now)
    #expect(answers.text == nil && answers.missing == nil)
    for text in ["", "{}", "x", #"{"transaction":"a"}"#] {
      #expect(KeptAnswers(text, of: "s", attempt: 1, now: now) == nil)
    }
  }
}
