import Domain
import EventLoop
import TestSupport
import Testing

@testable import AppStore
@testable import Worker

/// A verification that waits for its next call and goes on with its kept answers.
@LoopActor
struct KeptVerificationTests {
  private let now = AppleByValue.now

  /// The transaction that decides, if the result is verified.
  private func deciding(_ made: PurchaseVerification.Attempt) -> TransactionFacts? {
    made.result == .verified ? made.purchase?.deciding : nil
  }

  @Test func `the transaction is kept while the statuses have no budget`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
    apple.answers[.statuses(.production)] = try apple.status(.active, latest: apple.signed("101"))
    apple.spent = [.statuses(.production)]
    let waiting = try await apple.find()
    #expect(waiting.result == .postponed(.budget, wait: .seconds(7)))
    #expect(apple.counts("countersign_budget_waits_total 1"))
    let route = try #require(waiting.route)
    #expect(route.endpoint == "subscription-statuses" && route.original == "100")
    apple.spent = []
    let found = try await apple.find(route: route)
    #expect(deciding(found)?.expiresDate == now + AppleByValue.day)
    #expect(found.isFresh)
    #expect(apple.calls == [.info(.production), .statuses(.production)])
    // The answer is too old: the worker asks for it again.
    _ = try await apple.find(route: route, later: 600_001)
    #expect(apple.calls.count(where: { $0.endpoint == .transactionInfo }) == 2)
  }

  /// Runs until the transaction has no budget, with statuses that Apple has answered.
  private func keptStatuses(_ apple: AppleByValue, expiring end: Int64) async throws -> AppleRoute {
    // The statuses are of the purchase but do not name this transaction, so the worker needs the transaction too.
    apple.answers[.statuses(.production)] = try apple.status(
      .active, of: "7", latest: apple.signed("101", of: "7") { $0.expiresDate = end })
    apple.answers[.info(.production)] = .info(try apple.signed("100", of: "7") { $0.expiresDate = now - 1 })
    apple.spent = [.info(.production)]
    let waiting = try await apple.find()
    #expect(waiting.result == .postponed(.budget, wait: .seconds(7)))
    apple.spent = []
    return try #require(waiting.route)
  }

  @Test func `kept statuses conclude, but not for others`() async throws {
    let apple = try AppleByValue()
    let route = try await keptStatuses(apple, expiring: now + 1000)
    let found = try await apple.find(route: route, later: 999)
    #expect(deciding(found)?.expiresDate == now + 1000)
    #expect(!found.isFresh)
    #expect(apple.calls == [.statuses(.production), .info(.production)])
  }

  @Test func `a subscription that ended while its statuses were kept is asked about again`() async throws {
    let apple = try AppleByValue()
    let route = try await keptStatuses(apple, expiring: now + 1000)
    apple.answers[.statuses(.production)] = try apple.status(
      .active, of: "7", latest: apple.signed("102", of: "7") { $0.expiresDate = now + 5000 })
    let found = try await apple.find(route: route, later: 1000)
    #expect(deciding(found)?.expiresDate == now + 5000)
    #expect(found.isFresh)
    #expect(apple.calls == [.statuses(.production), .info(.production), .statuses(.production)])
  }

  @Test func `kept data that does not verify is Apple's to correct, and never the result`() async throws {
    let apple = try AppleByValue()
    // The statuses name the purchase by its original alone, so the worker looks at the transaction.
    apple.answers[.info(.production)] = .info(try apple.signed("100", of: "7") { $0.expiresDate = now })
    apple.answers[.statuses(.production)] = try apple.status(.active, of: "7", latest: apple.signed("101", of: "7"))
    let foreign = try apple.signed("100", of: "7", by: TestAuthority()) { $0.expiresDate = now }
    var answers = KeptAnswers(of: "s", attempt: 1)
    answers.told(transaction: foreign, at: now)
    let route = AppleRoute(place: "com.example|Production", endpoint: "subscription-statuses", answers: answers.text)
    let found = try await apple.find(route: route)
    #expect(found.result == .failed(.malformedAnswer))
    #expect(found.route == AppleRoute(place: "com.example|Production"))
    // The next attempt asks for both.
    let next = try await apple.find(route: found.route, attempt: 2)
    #expect(deciding(next) != nil)
  }

  @Test func `a failed call keeps what the other one has told`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed { $0.expiresDate = now })
    apple.answers[.statuses(.production)] = .http(500, "")
    let failed = try await apple.find()
    #expect(failed.result == .failed(.appleError))
    apple.answers[.statuses(.production)] = try apple.status(.active, latest: apple.signed("101"))
    let found = try await apple.find(route: failed.route, attempt: 2)
    #expect(deciding(found) != nil)
    #expect(apple.calls == [.info(.production), .statuses(.production), .statuses(.production)])
  }

  @Test func `a place that this attempt is done with is not asked again, but by the next one`() async throws {
    let apple = try AppleByValue()
    apple.spent = [.info(.sandbox), .statuses(.sandbox)]
    let waiting = try await apple.find()
    #expect(waiting.result == .postponed(.budget, wait: .seconds(7)))
    apple.spent = []
    #expect(try await apple.find(route: waiting.route).result == .unknownTransaction)
    #expect(apple.calls == [.info(.production), .info(.sandbox)])
    #expect(try await apple.find(route: waiting.route, attempt: 2).result == .unknownTransaction)
    #expect(apple.calls[2...] == [.info(.sandbox), .info(.production)])
  }
}
