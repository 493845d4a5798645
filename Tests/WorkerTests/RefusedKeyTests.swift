import AppStore
import Coordination
import Domain
import EventLoop
import HTTP
import Testing

@testable import Worker

/// What a verification does with a key that Apple refuses (decision 0037).
@LoopActor
struct RefusedKeyTests {
  private typealias Question = AppleByValue.Question
  private let others: [Question] = [.info(.sandbox)]

  private func places(_ apps: [Publisher.App]) -> [AppPlace] {
    AppPlace.all(
      of: Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps, offers: OfferCatalog([]),
        webhooks: []),
      budgetScale: 1)
  }

  @Test(arguments: [AppleByValue.Answer.refused, .code(.invalidAppIdentifier)])
  func `a refusal holds back all calls for the app, but one in a while`(answer: AppleByValue.Answer) async throws {
    let apple = try AppleByValue()
    let places = places([apple.app()])
    apple.answers = [.info(.production): answer, .info(.sandbox): .info(try apple.signed(in: .sandbox))]
    for _ in 0..<3 {
      #expect(try await apple.find(at: places).result == .refused(wait: .seconds(5)))
    }
    // The sandbox's answer would hide the mistake.
    #expect(apple.calls == [.info(.production)])
    #expect(try await apple.find(at: places, later: 5000).result == .refused(wait: .seconds(5)))
    #expect(apple.calls.count == 2)
    // Somebody has mended it.
    apple.answers[.info(.production)] = .info(try apple.signed())
    #expect(try await apple.find(at: places, later: 5001).result == .refused(wait: .seconds(5)))
    for later: Int64 in [10_000, 10_001] {
      #expect(try await apple.find(at: places, later: later).result == .verified)
    }
  }

  @Test func `the refusal of one app says nothing about another`() async throws {
    let apple = try AppleByValue()
    let places = places([apple.app(), apple.app("com.other")])
    apple.answers = [
      .info(.production): .refused,
      .info(.production, app: "com.other"): .info(try apple.signed { $0.bundleId = "com.other" }),
    ]
    for _ in 0..<2 { #expect(try await apple.find(at: places).result == .verified) }
    let other = Question.info(.production, app: "com.other")
    #expect(apple.calls == [.info(.production), other, other])
  }

  @Test func `a run takes no budget for what it may not ask`() async throws {
    let apple = try AppleByValue()
    let places = places([apple.app(), apple.app("com.other")])
    let now = AppleByValue.now
    func askable(later: Int64 = 0) -> [PlaceName] { AppPlace.askable(places, at: now + later).map(\.call.name) }
    let all: [PlaceName] = [
      "com.example|Production", "com.example|Sandbox", "com.other|Production", "com.other|Sandbox",
    ]
    #expect(askable() == all)
    apple.answers[.info(.production)] = .refused
    _ = try await apple.find(at: places)
    // The sandbox of the app would hide the mistake.
    #expect(askable(later: 4999) == Array(all[2...]))
    #expect(askable(later: 5000) == all)

    apple.answers = [.info(.sandbox, app: "com.other"): .refused]
    _ = try await apple.find(at: places, later: 5000)
    #expect(askable(later: 5001) == Array(all[..<3]))
  }

  @Test func `a new reading of the publisher's file is a new beginning`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .refused
    for _ in 0..<2 { _ = try await apple.find(at: places([apple.app()])) }
    #expect(apple.calls.count == 2)
  }

  @Test func `an id that Apple calls invalid is unknown if Apple takes the key, and a refusal if it does not`()
    async throws
  {
    let apple = try AppleByValue()
    let places = places([apple.app(environments: ["Production"])])
    let history = Question(environment: .production, endpoint: .notificationHistory)
    apple.answers[.info(.production)] = .code(.invalidTransactionId)
    #expect(try await apple.find(at: places).result == .unknownTransaction)
    #expect(apple.calls == [.info(.production), history])
    // For five seconds Apple's good answer stands.
    #expect(try await apple.find(at: places, later: 5000).result == .unknownTransaction)
    #expect(apple.calls == [.info(.production), history, .info(.production)])
    // Then Apple is asked again: the app may no longer belong to the key.
    apple.answers[history] = .code(.invalidTransactionId)
    #expect(try await apple.find(at: places, later: 5001).result == .refused(wait: .seconds(5)))
    #expect(apple.calls.suffix(2) == [.info(.production), history])
    for code: AppStoreErrorCode in [.invalidTransactionId, .invalidAppIdentifier, .appNotFound] {
      apple.answers[history] = .code(code)
      #expect(try await apple.find(at: self.places([apple.app()])).result == .refused(wait: .seconds(5)))
    }
    apple.answers[history] = .refused
    #expect(try await apple.find(at: self.places([apple.app()])).result == .refused(wait: .seconds(5)))
  }

  @Test func `without an answer about the key an invalid id is tried again`() async throws {
    let apple = try AppleByValue()
    let history = Question(environment: .production, endpoint: .notificationHistory)
    apple.answers = [.info(.production): .code(.invalidTransactionId), history: .http(500, "")]
    #expect(try await apple.find().result == .failed(.appleError))
    apple.answers[history] = .failure(.timeout)
    #expect(try await apple.find().result == .failed(.timeout))
    apple.spent = [history]
    #expect(try await apple.find().result == .failed(.budget))
  }

  @Test func `each answer to the call without an id has a meaning`() {
    #expect(CallFailure.resolving(nil) == .unknownHere)
    for kind: AppStoreAPIError.Kind in [
      .unauthorized, .api(.invalidAppIdentifier), .api(.invalidTransactionId), .api(.appNotFound),
    ] {
      #expect(CallFailure.resolving(kind) == .keyRefused)
    }
    #expect(CallFailure.resolving(.rateLimited(retryAfterMilliseconds: 5)) == .failed(.rateLimited))
    #expect(CallFailure.resolving(.malformedAnswer) == .failed(.malformedAnswer))
    for kind: AppStoreAPIError.Kind in [.api(.generalInternal), .http(500), .invalidRequest("")] {
      #expect(CallFailure.resolving(kind) == .failed(.appleError))
    }
  }

  @Test func `only "not found" among the failures proves the key`() {
    #expect(CallFailure.provesKey(.api(.transactionIdNotFound)))
    #expect(CallFailure.provesKey(.api(.originalTransactionIdNotFound)))
    for kind: AppStoreAPIError.Kind in [
      .api(.invalidTransactionId), .unauthorized, .http(404), .rateLimited(retryAfterMilliseconds: nil),
    ] {
      #expect(!CallFailure.provesKey(kind))
    }
  }
}
