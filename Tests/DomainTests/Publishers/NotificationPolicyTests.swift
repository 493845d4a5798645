import Domain
import Testing

/// The URLs that get a publisher's notifications, too.
struct NotificationPolicyTests {
  private static let all = NotificationForward(url: "https://a.example.com/n")
  private static let sandbox = NotificationForward(url: "https://b.example.com/n", environment: .sandbox)
  private let policy = NotificationPolicy(forwards: [all, sandbox])

  @Test func `a URL gets the notifications of its environment`() {
    #expect(policy.forwards(in: "Production") == [Self.all.id])
    #expect(policy.forwards(in: "Sandbox") == [Self.all.id, Self.sandbox.id])
    #expect(NotificationPolicy().forwards(in: "Production").isEmpty)
  }

  @Test func `what the history had is passed on for three days`() {
    let (now, days): (Int64, Int64) = (1_790_000_000_000, 3 * 86_400_000)
    #expect(NotificationPolicy.forwardsFound(now, now: now) && NotificationPolicy.forwardsFound(now - days, now: now))
    #expect(!NotificationPolicy.forwardsFound(now - days - 1, now: now))
  }

  @Test func `the id of a URL is a hash, and leads back to it`() {
    #expect(policy.forward(Self.sandbox.id) == Self.sandbox && policy.forward("main") == nil)
    #expect(Self.all.id.text.hasPrefix("fwd_") && Self.all.id.text.utf8.count == 28 && Self.all.id != Self.sandbox.id)
    #expect(NotificationForward(url: Self.all.url, environment: .production).id == Self.all.id)
    #expect(NotificationForward(url: Self.all.url, environment: .production) != Self.all)
  }
}
