import Formats
import JSON

extension Event {
  /// The event of a finalized synchronization; `nil` while it is not finalized.
  public convenience init?(of synchronization: Synchronization) {
    guard let result = synchronization.result, let finalizedAt = synchronization.finalizedAt else { return nil }
    self.init(
      of: [synchronization.id.text, synchronization.transactionId.text, synchronization.customerId.text],
      publisherId: synchronization.publisherId,
      // The ledger does not find an erased customer again. The body names it: the publisher waits for this event.
      customerId: result.code == .customerErased ? nil : synchronization.customerId,
      topic: EventTopic.synchronizationResult, version: synchronization.version, time: finalizedAt,
      traceparent: synchronization.traceparent
    ) { data in
      data.member("accessGranted", result.accessGranted)
      if synchronization.customerId != .nobody { data.customer(synchronization.customerId) }
      data.member("environment", result.environment)
      data.member("firstGrant", result.consumable?.isFirstGrant)
      data.member("offerId", result.offerId)
      data.member("originalTransactionId", result.originalTransactionId)
      data.member("productId", result.consumable?.productId)
      data.member("quantity", result.consumable.map { Int64($0.quantity) })
      data.member("result", result.code.rawValue)
      data.member("synchronizationId", synchronization.id)
      data.member("transactionId", synchronization.transactionId)
      data.member("type", result.consumable.map { _ in ProductKind.consumable.rawValue })
    }
  }

  /// The event of a changed entitlement.
  ///
  /// - Parameters:
  ///   - version: the customerVersion that the change has made.
  ///   - cause: why the ledger looked; ``EntitlementChange/Cause``.
  convenience init(
    of change: EntitlementChange, customer: CustomerKey, version: Int64, cause: EntitlementChange.Cause, time: Int64,
    traceparent: String?
  ) {
    self.init(
      of: [customer.id.text, String(version), change.offerId.text], publisherId: customer.publisherId,
      customerId: customer.id,
      topic: EventTopic.entitlementsChanged, version: version, time: time, traceparent: traceparent
    ) { data in
      if let after = change.after { data.member("after") { after.tell(to: &$0) } }
      if let before = change.before { data.member("before") { before.tell(to: &$0) } }
      data.member("cause", cause.rawValue)
      data.customer(customer.id)
      data.member("customerVersion", version)
      data.member("offerId", change.offerId)
    }
  }

  /// The event that announces a disabled endpoint.
  ///
  /// - Parameter failingSince: since when every attempt has failed, in milliseconds since 1970.
  public convenience init(
    _ endpoint: WebhookEndpoint, of publisher: PublisherId, _ disabled: EndpointHealth.Disabled, failingSince: Int64?
  ) {
    self.init(
      of: [endpoint.id.text, String(disabled.at)], publisherId: publisher, customerId: nil,
      topic: EventTopic.webhookEndpointDisabled, version: nil, time: disabled.at, traceparent: nil
    ) { data in
      data.member("disabledAt", rfc3339(milliseconds: disabled.at))
      data.member("endpointId", endpoint.id)
      data.member("failingSince", failingSince.map(rfc3339(milliseconds:)))
      data.member("reason", disabled.reason.rawValue)
      data.member("url", endpoint.url)
    }
  }
}
