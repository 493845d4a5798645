import AppStore
import Testing

@testable import Worker

struct KeptAnswersTests {
  private let now: Int64 = 1_800_000_000_000

  private func statuses(_ signed: String = "a.b.c") -> KeptAnswers.Statuses {
    var entry = SubscriptionStatusesResponse.LastTransaction()
    entry.status = SubscriptionStatus(rawValue: 77)
    entry.originalTransactionId = "7"
    entry.signedTransactionInfo = signed
    return KeptAnswers.Statuses(areKnown: true, entries: [entry])
  }

  @Test func `one answer waits for the other, for ten minutes`() throws {
    var answers = KeptAnswers()
    answers.transaction = "a.b.c"
    #expect(answers.missing == .subscriptionStatuses)
    let text = try #require(answers.text(now: now))
    #expect(KeptAnswers(text, now: now + 600_000)?.transaction == "a.b.c")
    #expect(KeptAnswers(text, now: now + 600_001) == nil)
    // Waiting once more does not make it younger.
    let again = try #require(KeptAnswers(text, now: now + 500_000)?.text(now: now + 500_000))
    #expect(KeptAnswers(again, now: now + 600_001) == nil)
  }

  @Test func `statuses come back as they were, known or not`() throws {
    for kept in [statuses(), KeptAnswers.Statuses(), KeptAnswers.Statuses(areKnown: true)] {
      var answers = KeptAnswers()
      answers.statuses = kept
      #expect(answers.missing == .transactionInfo)
      let text = try #require(answers.text(now: now))
      #expect(KeptAnswers(text, now: now)?.statuses == kept)
    }
  }

  @Test func `a place that knows nothing is not asked again`() throws {
    var answers = KeptAnswers()
    answers.unknownAt = ["app|Production"]
    let text = try #require(answers.text(now: now))
    #expect(KeptAnswers(text, now: now)?.unknownAt == ["app|Production"])
  }

  @Test func `nothing, everything and too much are not kept`() {
    var answers = KeptAnswers()
    #expect(answers.text(now: now) == nil && answers.missing == nil)
    answers.statuses = statuses(String(repeating: "a", count: 70_000))
    #expect(answers.text(now: now) == nil)
    answers.statuses = statuses()
    answers.transaction = "a.b.c"
    #expect(answers.text(now: now) == nil && answers.missing == nil)
    for text in ["", "{}", "x", #"{"transaction":"a"}"#] { #expect(KeptAnswers(text, now: now) == nil) }
  }
}
