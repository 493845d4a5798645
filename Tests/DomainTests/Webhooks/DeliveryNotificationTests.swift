import Testing

@testable import Domain

/// Notifications of Apple's on their way to URLs of a publisher's file.
struct DeliveryNotificationTests {
  private static let uuid: NotificationUUID = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"

  @Test func `a delivery names its notification`() throws {
    let key = NotificationKey(publisherId: 1001, uuid: Self.uuid)
    let delivery = try #require(Delivery(key, to: "fwd_1"))
    #expect(delivery.notification == key && delivery.endpointId == "fwd_1" && delivery.publisherId == 1001)
    #expect(delivery.eventId == "ntf_1001_\(Self.uuid)" && delivery.time == nil)
  }

  /// The id of a message has no dot, and names just one notification.
  @Test(arguments: ["", "a.b", "a_b", "é", "a b", "a\0", String(repeating: "a", count: 65)])
  func `what is no UUID of Apple's is not passed on`(uuid: String) {
    let key = NotificationKey(publisherId: 1001, uuid: NotificationUUID(uuid))
    #expect(Delivery.id(of: key) == nil && Delivery(key, to: "fwd_1") == nil)
  }

  @Test(arguments: [
    "", "ntf_", "ntf_1001", "ntf_1001_", "ntf_x_a", "ntf_01_a", "evt_1001_a", "ntf_1001_a_b", "ntf_+1_a",
  ])
  func `another id names no notification`(id: EventId) {
    #expect(Delivery.notification(named: id) == nil)
  }

  @Test func `a URL gets the notifications of the environment that the file names now`() {
    let all = WebhookEndpoint(NotificationForward(url: "u"))
    let sandbox = WebhookEndpoint(NotificationForward(url: "u", environment: .sandbox))
    #expect(all.getsNotifications(of: "Production") && all.getsNotifications(of: "Sandbox"))
    #expect(sandbox.getsNotifications(of: "Sandbox") && !sandbox.getsNotifications(of: "Production"))
    // A row may lack its environment.
    #expect(sandbox.getsNotifications(of: nil))
    #expect(!WebhookEndpoint(id: "ep_1", url: "u", topics: ["t"], secrets: []).getsNotifications(of: nil))
  }

  @Test func `an event is no notification, whatever its id`() throws {
    let event = try Delivery(
      eventId: "ntf_1001_a", endpointId: nil, headers: [:], body: Array(#"{"broadcasterId":1001,"topic":"t"}"#.utf8))
    #expect(event.notification == nil)
  }

  @Test func `the attempts of a forward take a day`() {
    let schedule = WebhookEndpoint.scheduleOfForwards
    #expect(schedule.reduce(.zero, +) == .seconds(86_400) && schedule == schedule.sorted())
    let endpoint = WebhookEndpoint(NotificationForward(url: "https://staging.example.com/apple", environment: .sandbox))
    #expect(endpoint.isForward && endpoint.environment == .sandbox && endpoint.retry == .schedule(schedule))
    #expect(endpoint.topics.isEmpty && endpoint.secrets.isEmpty && endpoint.source == .configuration)
  }
}
