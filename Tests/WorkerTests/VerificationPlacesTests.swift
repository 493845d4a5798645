import Coordination
import Domain
import EventLoop
import HTTP
import Testing

@testable import AppStore
@testable import Worker

/// Where a verification asks, and how it treats failed calls.
@LoopActor
struct VerificationPlacesTests {
  private let other: BundleId = "com.other"

  private func environment(_ made: PurchaseVerification.Attempt) -> Environment? {
    made.result == .verified ? made.purchase?.key.environment : nil
  }

  // MARK: One place after the other

  @Test(arguments: [
    AppStoreErrorCode.transactionIdNotFound, .originalTransactionIdNotFound, .invalidTransactionId,
    .invalidOriginalTransactionId,
  ])
  func `what production does not know, the sandbox is asked for`(code: AppStoreErrorCode) async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .code(code)
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox))
    let made = try await apple.find()
    #expect(environment(made) == "Sandbox")
    #expect(made.route == AppleRoute(place: "com.example|Sandbox"))
    // It says that an id is invalid also when it does not take the key, so one more call finds out which it is.
    let history = AppleByValue.Question(environment: .production, endpoint: .notificationHistory)
    let isDoubtful = code == .invalidTransactionId
    #expect(apple.calls == [.info(.production)] + (isDoubtful ? [history] : []) + [.info(.sandbox)])
  }

  @Test func `what nobody knows is unknown, each app in each environment`() async throws {
    let apple = try AppleByValue()
    let made = try await apple.find([apple.app(), apple.app(other)])
    #expect(made.result == .unknownTransaction)
    #expect(
      apple.calls == [
        .info(.production), .info(.sandbox), .info(.production, app: other), .info(.sandbox, app: other),
      ])
  }

  @Test func `only the environments of the app are asked`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox))
    #expect(try await apple.find([apple.app(environments: ["Production"])]).result == .unknownTransaction)
    #expect(apple.calls == [.info(.production)])
    #expect(environment(try await apple.find([apple.app(environments: ["Sandbox"])])) == "Sandbox")
  }

  @Test func `a known place is asked first, and no other one when it knows`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox))
    let route = AppleRoute(place: "com.example|Sandbox")
    #expect(environment(try await apple.find(route: route)) == "Sandbox")
    #expect(apple.calls == [.info(.sandbox)])
    // If that place does not know it any more, the worker asks the others.
    apple.answers = [.info(.production): .info(try apple.signed())]
    #expect(environment(try await apple.find(route: route)) == "Production")
    #expect(apple.calls[1...] == [.info(.sandbox), .info(.production)])
    // The publisher no longer has this place.
    #expect(environment(try await apple.find(route: AppleRoute(place: "com.gone|Production"))) == "Production")
  }

  // MARK: A refused key

  @Test func `a 401 of production is tried again, and never hidden by the sandbox's "not found"`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .refused
    let made = try await apple.find()
    #expect(made.result == .refused(wait: .seconds(5)))
    // The worker does not ask the sandbox, whether the sandbox knows nothing or knows a purchase.
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox))
    #expect(try await apple.find().result == .refused(wait: .seconds(5)))
    #expect(apple.calls == [.info(.production), .info(.production)])
    // In the other order: the worker asks the sandbox first, because the sandbox once knew the transaction.
    apple.answers[.info(.sandbox)] = .code(.transactionIdNotFound)
    let later = try await apple.find(route: AppleRoute(place: "com.example|Sandbox"))
    #expect(later.result == .refused(wait: .seconds(5)))
    #expect(apple.calls[2...] == [.info(.sandbox), .info(.production)])
  }

  @Test func `a 401 of production leads to the sandbox for an app that is not released`() async throws {
    let apple = try AppleByValue()
    let unreleased = [apple.app(isReleased: false)]
    apple.answers = [.info(.production): .refused, .info(.sandbox): .info(try apple.signed(in: .sandbox))]
    #expect(environment(try await apple.find(unreleased)) == "Sandbox")
    // The sandbox has accepted the key, so its "not found" counts.
    apple.answers[.info(.sandbox)] = .code(.transactionIdNotFound)
    #expect(try await apple.find(unreleased).result == .unknownTransaction)
    apple.answers[.info(.sandbox)] = .refused
    #expect(try await apple.find(unreleased).result == .refused(wait: .seconds(5)))
    #expect(apple.calls == Array(repeating: [.info(.production), .info(.sandbox)], count: 3).flatMap(\.self))
    // As soon as production answers, its answer counts.
    apple.answers[.info(.production)] = .info(try apple.signed())
    #expect(environment(try await apple.find(unreleased)) == "Production")
  }

  @Test func `another app may know what a refused key cannot ask for`() async throws {
    let apple = try AppleByValue()
    let apps = [apple.app(), apple.app(other)]
    apple.answers = [
      .info(.production): .refused,
      .info(.sandbox, app: other): .info(try apple.signed(in: .sandbox) { $0.bundleId = other }),
    ]
    #expect(environment(try await apple.find(apps)) == "Sandbox")
    apple.answers[.info(.sandbox, app: other)] = nil
    #expect(try await apple.find(apps).result == .refused(wait: .seconds(5)))
    let asked: [AppleByValue.Question] = [
      .info(.production), .info(.production, app: other), .info(.sandbox, app: other),
    ]
    #expect(apple.calls == asked + asked)
  }

  @Test func `an app whose bundle id only looks the same is another app`() async throws {
    let apple = try AppleByValue()
    let (refused, asked): (BundleId, BundleId) = ("com.Kiosk", "com.\u{212A}iosk")
    apple.answers = [
      .info(.production, app: refused): .refused,
      .info(.sandbox, app: asked): .info(try apple.signed(in: .sandbox) { $0.bundleId = asked }),
    ]
    #expect(environment(try await apple.find([apple.app(refused), apple.app(asked)])) == "Sandbox")
  }

  @Test func `a sandbox that must not be asked is not asked by a later run of the attempt either`() async throws {
    let apple = try AppleByValue()
    apple.answers = [.info(.production): .refused, .info(.sandbox): .info(try apple.signed(in: .sandbox))]
    apple.spent = [.info(.production, app: other), .statuses(.production, app: other)]
    let apps = [apple.app(), apple.app(other)]
    let waiting = try await apple.find(apps)
    #expect(waiting.result == .postponed(.budget, wait: .seconds(7)))
    apple.spent = []
    #expect(try await apple.find(apps, route: waiting.route).result == .refused(wait: .seconds(5)))
    #expect(!apple.calls.contains(.info(.sandbox)))
  }

  @Test func `a 401 behind an answer is tried again with the answer`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox) { $0.expiresDate = AppleByValue.now })
    apple.answers[.statuses(.sandbox)] = .refused
    let made = try await apple.find([apple.app(isReleased: false)])
    #expect(made.result == .refused(wait: .seconds(5)))
    #expect(made.route?.endpoint == "subscription-statuses" && made.route?.answers != nil)
  }

  // MARK: Budgets

  @Test func `a call that came with the lease is made without asking for another`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .info(try apple.signed())
    apple.spent = [.info(.production), .statuses(.production)]
    let grant = CallPermit(place: "com.example|Production", endpoint: "transaction-info")
    #expect(environment(try await apple.find(grant: grant)) == "Production")
    // A call for another place is of no use.
    let elsewhere = CallPermit(place: "com.example|Sandbox", endpoint: "transaction-info")
    #expect(try await apple.find(grant: elsewhere).result == .postponed(.budget, wait: .seconds(7)))
  }

  @Test func `a store that cannot be asked postpones`() async throws {
    let apple = try AppleByValue()
    apple.isStoreAway = true
    #expect(try await apple.find().result == .postponed(.storeUnavailable, wait: .seconds(1)))
    #expect(apple.calls.isEmpty)
  }

  @Test func `each endpoint has Apple's number times the scale`() throws {
    let apple = try AppleByValue()
    let publisher = Publisher(
      id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [apple.app()], offers: OfferCatalog([]),
      webhooks: [])
    let places = AppPlace.all(of: publisher, budgetScale: 0.5).map(\.call)
    for (place, perSecond) in zip(places, [25.0, 2.5]) {
      #expect(
        place.budgets == [
          CallBudget(endpoint: "transaction-info", perSecond: perSecond),
          CallBudget(endpoint: "subscription-statuses", perSecond: perSecond),
        ])
    }
    #expect(places.map(\.name) == ["com.example|Production", "com.example|Sandbox"])
  }

  // MARK: Calls that fail

  @Test(arguments: [
    (AppleByValue.Answer.http(500, ""), RetryCause.appleError), (.http(404, ""), .appleError),
    (.code(.generalInternal), .appleError), (.code(.accountNotFoundRetryable), .appleError),
    (.code(.appNotFoundRetryable), .appleError), (.code(.originalTransactionIdNotFoundRetryable), .appleError),
    (.http(200, "no JSON"), .malformedAnswer),
    (.http(200, "{}"), .malformedAnswer),
    (.failure(.timeout), .timeout), (.failure(.responseTooLarge), .malformedAnswer), (.failure(.unreachable), .network),
    (.failure(.tls), .tls), (.failure(.interrupted), .network), (.failure(.cancelled), .network),
  ])
  func `a failure is tried again and asks nobody else`(answer: AppleByValue.Answer, cause: RetryCause) async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = answer
    apple.answers[.info(.sandbox)] = .info(try apple.signed(in: .sandbox))
    #expect(try await apple.find().result == .failed(cause))
    #expect(apple.calls == [.info(.production)])
  }

  @Test func `a 429 stops the endpoint's calls until Apple's time, or for a second`() async throws {
    let apple = try AppleByValue()
    apple.answers[.info(.production)] = .http(429, "", retryAfter: "\(AppleByValue.now + 5000)")
    #expect(try await apple.find().result == .failed(.rateLimited))
    #expect(apple.pauses == ["com.example|Production transaction-info": .seconds(5)])
    apple.answers[.info(.production)] = .http(429, "")
    _ = try await apple.find()
    #expect(apple.pauses == ["com.example|Production transaction-info": .seconds(1)])
  }
}
