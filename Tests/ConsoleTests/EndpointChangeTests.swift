import Crypto
import Domain
import DomainSupport
import HTTPServer
import Ledger
import Testing

@testable import Console

/// What a person may do to an endpoint, and what the page with a new secret says.
struct EndpointChangeTests {
  private static let now = AnsweredPurchases.now
  private static let disabled = ConsoleEndpoint.State(
    health: EndpointHealth(disabled: EndpointHealth.Disabled(reason: .failing, at: now)))

  private static func view(_ role: ConsoleRole) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func endpoint(_ source: String = "api") -> ConsoleEndpoint {
    ConsoleEndpoint(publisherId: 7, id: "ep", url: "https://hook.example/x", source: source)
  }

  @Test(
    arguments: [
      ("api", false, .support, [.disable, .test]), ("api", false, .operator, [.disable, .rotate, .test]),
      ("api", true, .support, [.enable]), ("api", true, .operator, [.enable, .rotate]),
      ("subscription", false, .support, [.disable, .test]),
      // The publisher's file says what it is, and the ledger only how it does.
      ("configuration", false, .operator, [.test]), ("configuration", true, .operator, [.enable]),
      ("forward", false, .operator, []), ("", false, .operator, []), ("api", false, .viewer, []),
    ] as [(String, Bool, ConsoleRole, [EndpointChange])])
  func `a person may do what the API could`(
    source: String, isDisabled: Bool, role: ConsoleRole, possible: [EndpointChange]
  ) throws {
    let state = isDisabled ? Self.disabled : ConsoleEndpoint.State()
    #expect(EndpointChange.possible(Self.endpoint(source), state, by: role) == possible)
    let page = EndpointPage(
      view: try Self.view(role), endpoint: Self.endpoint(source), state: state, backlog: nil,
      attempts: AttemptPage(entries: [], next: nil)
    ).html
    for change in EndpointChange.allCases {
      #expect(
        page.contains("action=\"/c/endpoints/7/ep/\(change.rawValue)\"") == possible.contains(change), "\(change)")
    }
  }

  @Test func `what cannot be done says why`() {
    let file = EndpointChange.disable.refusal(Self.endpoint("configuration"), ConsoleEndpoint.State())
    #expect(file == "The endpoint is in the publisher's file, and is changed there.")
    #expect(EndpointChange.test.refusal(Self.endpoint(), Self.disabled)?.contains("had failed for too long") == true)
    #expect(EndpointChange.enable.refusal(Self.endpoint(), ConsoleEndpoint.State())?.contains("already") == true)
    #expect(EndpointChange.disable.refusal(Self.endpoint(), Self.disabled)?.contains("already") == true)
    #expect(EndpointChange.rotate.refusal(Self.endpoint(), Self.disabled) == nil)
  }

  private static func secret(
    _ signature: WebhookEndpoint.Signature, old end: Int64?
  ) throws -> Document {
    let key = Array(repeating: UInt8(1), count: 32)
    let secrets =
      [WebhookEndpoint.Secret(key: key)]
      + (end.map { [WebhookEndpoint.Secret(key: Array(repeating: 2, count: 32), expiresAt: $0)] } ?? [])
    let endpoint = WebhookEndpoint(
      id: "ep", url: "https://hook.example", topics: ["t"], signature: signature, secrets: secrets)
    return NewSecretPage(
      view: try view(.operator), key: EndpointKey(publisherId: 7, id: "ep"), endpoint: endpoint
    ).html
  }

  @Test func `a new secret is shown once, and of a pair only the public half`() throws {
    let shared = "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    let page = try Self.secret(.v1, old: Self.now + 86_400_000)
    #expect(page.contains("<code>\(shared)</code>") && page.contains("until "))
    #expect(!page.contains("AgIC"))
    #expect(try Self.secret(.v1, old: nil).contains("no longer"))
    let pair = try Self.secret(.v1a, old: nil)
    #expect(pair.contains("whpk_") && !pair.contains("AQEBAQ"))
  }

  @Test func `a test event tells nothing but the endpoint and the time`() {
    let event = Event(testing: "ep", of: 7, id: "evt_1", traceparent: nil, now: 1_700_000_000_123)
    #expect(event.topic == EventTopic.test && event.customerId == nil && event.version == nil)
    let body = #"{"broadcasterId":7,"data":{"endpointId":"ep","time":"2023-11-14T22:13:20.123Z"},"topic":"test"}"#
    #expect(String(decoding: event.body, as: UTF8.self).replacing(EventTopic.test.text, with: "test") == body)
  }
}
