import Domain
import Testing

/// Which keys sign after a rotation.
struct WebhookRotationTests {
  private func endpoint(_ secrets: [WebhookEndpoint.Secret]) -> WebhookEndpoint {
    WebhookEndpoint(id: "a", url: "https://example.com", topics: ["t"], secrets: secrets)
  }

  @Test func `the old key signs until the overlap ends`() {
    var endpoint = endpoint([.init(key: [1])])
    let done1 = endpoint.rotate(to: [2], overlap: 1000, now: 5000)
    #expect(done1)
    #expect(endpoint.secrets == [.init(key: [2]), .init(key: [1], expiresAt: 6000)])
    #expect(endpoint.secrets(at: 5999) == [[2], [1]])
    #expect(endpoint.secrets(at: 6000) == [[2]])
  }

  /// A key of the ledger is lost: a new secret that ends the old ones at once is the way out.
  @Test func `secrets that nobody can read can only end at once`() {
    var endpoint = endpoint([])
    endpoint.secretsDefect = .init(.missingKey, keyId: "lost")
    let overlapping = endpoint.rotate(to: [1], overlap: 1000, now: 5000)
    #expect(overlapping)
    #expect(endpoint.secretsDefect == .init(.missingKey, keyId: "lost"))
    endpoint.secrets = []
    let ending = endpoint.rotate(to: [2], overlap: 0, now: 5000)
    #expect(ending)
    #expect(endpoint.secretsDefect == nil && endpoint.secrets == [.init(key: [2])])
  }

  @Test func `an overlap never prolongs, and none ends all old keys`() {
    var endpoint = endpoint([.init(key: [2]), .init(key: [1], expiresAt: 6000), .init(key: [0], expiresAt: 5000)])
    let done2 = endpoint.rotate(to: [3], overlap: 9000, now: 5000)
    #expect(done2)
    #expect(
      endpoint.secrets == [.init(key: [3]), .init(key: [2], expiresAt: 14000), .init(key: [1], expiresAt: 6000)])
    let done3 = endpoint.rotate(to: [4], overlap: 0, now: 5000)
    #expect(done3)
    #expect(endpoint.secrets == [.init(key: [4])])
  }

  @Test func `the same key again changes nothing, and one that comes back is the newest`() {
    var endpoint = endpoint([.init(key: [2]), .init(key: [1], expiresAt: 6000)])
    let before = endpoint
    let done4 = endpoint.rotate(to: [2], overlap: 0, now: 5000)
    #expect(done4)
    #expect(endpoint == before)
    let done5 = endpoint.rotate(to: [1], overlap: 500, now: 5000)
    #expect(done5)
    #expect(endpoint.secrets == [.init(key: [1]), .init(key: [2], expiresAt: 5500)])
  }

  @Test func `a header has room for ten old signatures`() {
    var endpoint = endpoint([.init(key: [0])])
    for number in 1...UInt8(WebhookEndpoint.maxOldSecrets) {
      let done6 = endpoint.rotate(to: [number], overlap: 1000, now: 0)
      #expect(done6)
    }
    let before = endpoint
    let done7 = endpoint.rotate(to: [99], overlap: 1000, now: 0)
    #expect(!done7)
    #expect(endpoint == before)
    let done8 = endpoint.rotate(to: [99], overlap: 0, now: 0)
    #expect(done8)
    let done9 = endpoint.rotate(to: [98], overlap: 1000, now: 1000)
    #expect(done9)
  }
}
