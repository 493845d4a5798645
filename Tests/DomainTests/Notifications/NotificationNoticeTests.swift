import Domain
import Testing

/// The events of what is about no purchase.
struct NotificationNoticeTests {
  private func bodies(_ kind: NotificationNotice.Kind, subtype: String? = nil, customers: [CustomerId] = []) -> [String]
  {
    events(kind, subtype: subtype, customers: customers).map { String(decoding: $0.body, as: UTF8.self) }
  }

  private func events(
    _ kind: NotificationNotice.Kind, uuid: NotificationUUID = "n1", subtype: String? = nil, customers: [CustomerId] = []
  ) -> [Event] {
    Event.all(
      of: NotificationNotice(
        publisherId: 7, uuid: uuid, subtype: subtype, environment: "Production", bundleId: "com.example",
        signedDate: Self.signed, kind: kind),
      customers: customers, time: 5, traceparent: "t")
  }

  private static let signed: Int64 = 1_700_000_001_000
  private static let token = NotificationNotice.Token(
    id: "b2158121", type: "SERVICES", createdAt: 1_700_000_000_000, expiresAt: 1_702_592_000_000)

  @Test func `a token that is due is told as documented`() {
    #expect(
      bodies(.tokenDue(Self.token), subtype: "CREATED") == [
        """
        {"broadcasterId":7,"data":{"bundleId":"com.example","createdAt":"2023-11-14T22:13:20.000Z",\
        "environment":"Production","expiresAt":"2023-12-14T22:13:20.000Z","externalPurchaseId":"b2158121",\
        "notificationUUID":"n1","signedDate":"2023-11-14T22:13:21.000Z","subtype":"CREATED",\
        "tokenType":"SERVICES"},"topic":"externalPurchaseTokenDue"}
        """
      ])
    // An old token has neither a type nor an end.
    let old = NotificationNotice.Token(id: "b2158121", type: nil, createdAt: nil, expiresAt: nil)
    #expect(
      bodies(.tokenDue(old)) == [
        """
        {"broadcasterId":7,"data":{"bundleId":"com.example","environment":"Production",\
        "externalPurchaseId":"b2158121","notificationUUID":"n1","signedDate":"2023-11-14T22:13:21.000Z"},\
        "topic":"externalPurchaseTokenDue"}
        """
      ])
  }

  @Test func `withdrawn consent names each customer in an event of its own`() {
    let start = #"{"broadcasterId":7,"data":{"appTransactionId":"704","bundleId":"com.example","#
    let end =
      #""environment":"Production","notificationUUID":"n1","signedDate":"2023-11-14T22:13:21.000Z"},"#
      + #""topic":"consentRescinded"}"#
    #expect(
      bodies(.consentRescinded(appTransactionId: "704"), customers: ["42", "me"]) == [
        start + #""cleengCustomerId":42,"customerId":"42","# + end, start + #""customerId":"me","# + end,
      ])
    #expect(bodies(.consentRescinded(appTransactionId: "704")) == [start + end])
    #expect(
      bodies(.consentRescinded(appTransactionId: nil)) == [
        start.replacing(#""appTransactionId":"704","#, with: "") + end
      ])
  }

  @Test func `an event belongs to its customer, and has one id however often it is told`() {
    let kind = NotificationNotice.Kind.consentRescinded(appTransactionId: "704")
    let told = events(kind, customers: ["42", "me"])
    #expect(told.map(\.customerId) == ["42", "me"] && told.allSatisfy { $0.version == nil && $0.time == 5 })
    #expect(told.map(\.id) == events(kind, customers: ["42", "me"]).map(\.id))
    let others = events(kind) + events(kind, uuid: "n2") + events(.tokenDue(Self.token))
    #expect(Set((told + others).map(\.id)).count == 5)
    #expect(others.allSatisfy { $0.customerId == nil })
  }

  @Test func `a notice is told for a week, since Apple itself tries for so long`() {
    let notice = NotificationNotice(
      publisherId: 7, uuid: "n1", environment: "Production", bundleId: "com.example", signedDate: Self.signed,
      kind: .tokenDue(Self.token))
    let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
    #expect(notice.isNews(at: Self.signed - 1) && notice.isNews(at: Self.signed + (1 + 12 + 24 + 48 + 72) * hour))
    #expect(notice.isNews(at: Self.signed + 7 * day) && !notice.isNews(at: Self.signed + 7 * day + 1))
  }
}
