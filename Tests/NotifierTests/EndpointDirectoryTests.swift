import EventLoop
import Ledger
import TestSupport
import Testing

@testable import Configuration
@testable import Domain
@testable import Notifier

/// The notifier's knowledge of a publisher's endpoints, with a Redis that can be away.
@LoopActor
struct EndpointDirectoryTests {
  private struct Away: Error {}

  /// A Redis by its answers.
  @LoopActor
  private final class Answers {
    var next: Result<WebhookEndpointStore.Snapshot?, Away> = .success(nil)
    var asked: [(since: String?, configured: [EndpointId])] = []
    /// If it is set, every caller waits for it.
    var gate: Gate?
  }

  private func publisher(_ configured: EndpointId...) -> Publisher {
    Publisher(
      id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
      webhooks: configured.map { Publisher.WebhookEndpoint(id: $0, url: "u", secret: [], topics: ["t"]) })
  }

  private func snapshot(_ ids: [EndpointId], disabled: Set<EndpointId> = [], _ version: String = "1")
    -> WebhookEndpointStore.Snapshot
  {
    WebhookEndpointStore.Snapshot(
      endpoints: ids.map { WebhookEndpoint(id: $0, url: "u", topics: ["t"], secrets: []) }, disabled: disabled,
      version: version)
  }

  private func directory(_ answers: Answers) -> EndpointDirectory {
    EndpointDirectory { _, since, configured in
      answers.asked.append((since, configured))
      // The answer is the present one, however late it arrives.
      let answer = answers.next
      if let gate = answers.gate { await gate.pass() }
      return try answer.get()
    }
  }

  @Test func `while Redis is away, an unknown endpoint is an error and not gone`() async throws {
    let answers = Answers()
    answers.next = .success(snapshot(["ep_a"]))
    let directory = directory(answers)
    #expect(try await directory.endpoint("ep_a", of: publisher())?.endpoint.id == "ep_a")
    answers.next = .failure(Away())
    await #expect(throws: Away.self) { _ = try await directory.endpoint("ep_new", of: publisher()) }
    // The directory still has the endpoints that it knew.
    #expect(try await directory.endpoint("ep_a", of: publisher())?.endpoint.id == "ep_a")
    answers.next = .success(snapshot(["ep_a"], "2"))
    #expect(try await directory.endpoint("ep_new", of: publisher()) == nil)
    answers.next = .success(snapshot(["ep_a", "ep_new"], "3"))
    #expect(try await directory.endpoint("ep_new", of: publisher())?.endpoint.id == "ep_new")
  }

  @Test func `never read and away is an error, but for what the file names`() async throws {
    let answers = Answers()
    answers.next = .failure(Away())
    let directory = directory(answers)
    await #expect(throws: Away.self) { _ = try await directory.endpoints(of: publisher("main"), topic: "t") }
    let main = try await directory.endpoint("main", of: publisher("main"))
    #expect(main?.endpoint.id == "main" && main?.wasDisabled == false)
  }

  @Test func `a URL for notifications needs no ledger, and gets no event`() async throws {
    let answers = Answers()
    answers.next = .failure(Away())
    let directory = directory(answers)
    let forward = NotificationForward(url: "https://staging.example.com/apple")
    let publisher = Publisher(
      id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
      notifications: NotificationPolicy(forwards: [forward]), webhooks: [])
    let found = try await directory.endpoint(forward.id, of: publisher)
    #expect(found?.endpoint == WebhookEndpoint(forward) && found?.wasDisabled == false)
    answers.next = .success(snapshot([]))
    #expect(try await directory.endpoints(of: publisher, topic: "appleNotification").entries.isEmpty)
    #expect(try await directory.endpoint(forward.id, of: self.publisher()) == nil)
  }

  @Test func `who was disabled is known, of the API and of the file`() async throws {
    let answers = Answers()
    answers.next = .success(snapshot(["ep_a", "ep_b"], disabled: ["ep_b", "main"]))
    let directory = directory(answers)
    let found = try await directory.endpoints(of: publisher("main", "other"), topic: "t")
    #expect(found.entries.map(\.endpoint.id) == ["main", "other", "ep_a", "ep_b"])
    #expect(found.entries.map(\.wasDisabled) == [true, false, false, true])
    #expect(found.look == EndpointLook(["main", "other", "ep_a", "ep_b"], revision: 1))
    #expect(answers.asked[0].configured == ["main", "other"])
    #expect(try await directory.endpoints(of: publisher("main", "other"), topic: "x").entries.isEmpty)
    // Another file takes effect at once, even after an earlier reading.
    let fewer = try await directory.endpoints(of: publisher("main"), topic: "t")
    #expect(fewer.entries.map(\.endpoint.id) == ["main", "ep_a", "ep_b"])
  }

  @Test func `an endpoint with an environment does not hear about purchases of the other`() async throws {
    let answers = Answers()
    let endpoints = [nil, WebhookEnvironment.production, .sandbox].map { environment in
      WebhookEndpoint(
        id: EndpointId(environment?.rawValue ?? "both"), url: "u", topics: ["t"], secrets: [], environment: environment)
    }
    answers.next = .success(WebhookEndpointStore.Snapshot(endpoints: endpoints, disabled: [], version: "1"))
    let directory = directory(answers)
    func ids(_ environment: WebhookEnvironment?) async throws -> [EndpointId] {
      try await directory.endpoints(of: publisher("file"), topic: "t", environment: environment).look.endpoints
    }
    #expect(try await ids(.production) == ["file", "both", "Production"])
    #expect(try await ids(.sandbox) == ["file", "both", "Sandbox"])
    #expect(try await ids(nil) == ["file", "both", "Production", "Sandbox"])
    let look = try await directory.endpoints(of: publisher(), topic: "t", environment: .sandbox).look
    #expect(look.environment == .sandbox)
  }

  @Test func `a reading that began before an endpoint was made is not taken for an answer`() async throws {
    let answers = Answers()
    let gate = Gate()
    answers.next = .success(snapshot([]))
    answers.gate = gate
    let directory = directory(answers)
    let early = Task { @LoopActor in try await directory.endpoint("ep_new", of: publisher()) }
    try await eventually("it is asked") { answers.asked.count == 1 }
    answers.next = .success(snapshot(["ep_new"], "2"))
    answers.gate = nil
    let late = Task { @LoopActor in try await directory.endpoint("ep_new", of: publisher()) }
    gate.open()
    #expect(try await early.value?.endpoint.id == "ep_new")
    #expect(try await late.value?.endpoint.id == "ep_new")
    #expect(answers.asked[1].since == "1")
  }

  /// A publisher may choose such names; Redis stores each endpoint by the bytes of its id.
  @Test func `endpoints whose ids only look alike are two`() async throws {
    let answers = Answers()
    answers.next = .success(snapshot([], disabled: ["\u{212A}"]))
    let (directory, publisher) = (directory(answers), publisher("K", "\u{212A}"))
    #expect(try await directory.endpoint("K", of: publisher)?.wasDisabled == false)
    #expect(try await directory.endpoint("\u{212A}", of: publisher)?.wasDisabled == true)
    #expect(try await directory.endpoints(of: publisher, topic: "t").entries.count == 2)
  }
}
