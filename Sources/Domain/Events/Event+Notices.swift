import Formats
import JSON

extension Event {
  /// The events of a notice.
  ///
  /// An event names one customer only, so that an erasure finds it. So withdrawn consent has an event for each customer
  /// whom the ledger knows by the download, or one without a customer.
  ///
  /// - Parameter customers: the ids of the customers who own a purchase of the download.
  public static func all(
    of notice: NotificationNotice, customers: [CustomerId], time: Int64, traceparent: String?
  ) -> [Event] {
    switch notice.kind {
    case .tokenDue(let token): [Event(of: token, in: notice, time: time, traceparent: traceparent)]
    case .consentRescinded(let id):
      (customers.isEmpty ? [nil] : customers.map(Optional.some)).map { customer in
        Event(ofRescinded: id, customer, in: notice, time: time, traceparent: traceparent)
      }
    }
  }

  private convenience init(
    of token: NotificationNotice.Token, in notice: NotificationNotice, time: Int64, traceparent: String?
  ) {
    self.init(
      of: [notice.uuid.text], publisherId: notice.publisherId, customerId: nil,
      topic: EventTopic.externalPurchaseTokenDue, version: nil, time: time, traceparent: traceparent
    ) { data in
      data.member("bundleId", notice.bundleId)
      data.member("createdAt", token.createdAt.map(rfc3339(milliseconds:)))
      data.member("environment", notice.environment)
      data.member("expiresAt", token.expiresAt.map(rfc3339(milliseconds:)))
      data.member("externalPurchaseId", token.id)
      data.member("notificationUUID", notice.uuid)
      data.member("signedDate", rfc3339(milliseconds: notice.signedDate))
      data.member("subtype", notice.subtype)
      data.member("tokenType", token.type)
    }
  }

  private convenience init(
    ofRescinded appTransactionId: AppTransactionId?, _ customer: CustomerId?, in notice: NotificationNotice,
    time: Int64,
    traceparent: String?
  ) {
    self.init(
      of: [notice.uuid.text] + (customer.map { [$0.text] } ?? []), publisherId: notice.publisherId,
      customerId: customer, topic: EventTopic.consentRescinded, version: nil, time: time, traceparent: traceparent
    ) { data in
      data.member("appTransactionId", appTransactionId)
      data.member("bundleId", notice.bundleId)
      if let customer { data.customer(customer) }
      data.member("environment", notice.environment)
      data.member("notificationUUID", notice.uuid)
      data.member("signedDate", rfc3339(milliseconds: notice.signedDate))
    }
  }
}
