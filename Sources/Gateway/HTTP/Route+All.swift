import Domain
import EventLoop
import HTTPServer

extension Route {
  /// The routes of our own API. The most frequent ones come first.
  static let own = purchases + grants + imports + refunds + webhooks + notifications + health

  private static let purchases = [
    Route(
      .post, "/storekit2/purchases", under: "storekit2", "register",
      .publisherOrCustomer(.register, SynchronizationAPI.register)),
    Route(
      .get, "/storekit2/purchases/synchronizations/{synchronizationId}", under: "storekit2", "status",
      .publisherOrCustomer(.read, SynchronizationAPI.status)),
    Route(
      .post, "/storekit2/purchases/transfers", under: "storekit2", "transfer",
      .publisher(.register, SynchronizationAPI.transfer)),
    customers("entitlements", "entitlements", PurchaseAPI.entitlements),
    customers("entitlements/{offerId}", "entitlements", PurchaseAPI.entitlement),
    customers("purchases", "purchases", PurchaseAPI.list),
    Route(
      .get, "/purchases/{originalTransactionId}", under: "storekit2", "purchase",
      .publisherOrCustomer(.read, PurchaseAPI.read)),
    Route(
      .post, "/purchases/{originalTransactionId}/release", under: "storekit2", "release",
      .publisher(.admin, PurchaseAPI.release)),
    Route(
      .get, "/orders/{orderId}", under: "storekit2", "order",
      .publisher(.read) { gateway, call throws(Problem) in try await gateway.orders(for: call.caller).read(call) }),
    customer(.put, "/{customerId}", .register, CustomerAPI.put),
    customer(.get, "/{customerId}", .read, CustomerAPI.read),
    customer(.delete, "/{customerId}", .admin, CustomerAPI.delete),
    customer(.get, "", .read, CustomerAPI.find),
    customer(.get, "/{customerId}/export", .admin, CustomerAPI.export),
    Route(.get, "/customers/{customerId}/card", under: "storekit2", "card", .publisher(.read, PurchaseAPI.card)),
    Route(.get, "/card", under: "storekit2", "card", .publisher(.read, PurchaseAPI.cardByEmail)),
    Route(
      .get, "/audit", under: "storekit2", "audit",
      .publisher(.admin) { gateway, call throws(Problem) in try await gateway.audit(for: call.caller).list(call) }),
    Route(
      .get, "/events", under: "storekit2", "events",
      .publisher(.read) { gateway, call throws(Problem) in try await gateway.events(for: call.caller).list(call) }),
    Route(
      .get, "/export", under: "storekit2", "export",
      .publisher(.export) { gateway, call throws(Problem) in try await gateway.export(for: call.caller).read(call) }),
  ]

  private static let grants = [
    grant(.post, "", .grants, GrantAPI.give), grant(.get, "", .read, GrantAPI.list),
    grant(.post, "/{grantId}/withdraw", .grants, GrantAPI.withdraw),
    sandboxAccess(.put, .sandboxAccess, SandboxOverrideAPI.put),
    sandboxAccess(.get, .read, SandboxOverrideAPI.read),
    sandboxAccess(.delete, .sandboxAccess, SandboxOverrideAPI.withdraw),
  ]

  private static let refunds = [
    consent(.put, .admin, ConsentAPI.put), consent(.get, .read, ConsentAPI.read),
    refund(.get, "", .read, RefundAPI.list), refund(.get, "/{refundRequestId}", .read, RefundAPI.read),
    refund(.put, "/{refundRequestId}", .admin, RefundAPI.put),
  ]

  private static let webhooks = [
    webhook(.get, "webhook_subscriptions/{topic}", "webhook_subscriptions", WebhookAPI.readSubscriptions),
    webhook(.put, "webhook_subscriptions/{topic}", "webhook_subscriptions", WebhookAPI.putSubscriptions),
    webhook(.get, "webhook_endpoints", "webhook_endpoints", WebhookAPI.list),
    webhook(.post, "webhook_endpoints", "webhook_endpoints", WebhookAPI.create),
    webhook(.get, "webhook_endpoints/{endpointId}", "webhook_endpoints", WebhookAPI.read),
    webhook(.patch, "webhook_endpoints/{endpointId}", "webhook_endpoints", WebhookAPI.update),
    webhook(.delete, "webhook_endpoints/{endpointId}", "webhook_endpoints", WebhookAPI.delete),
    change("enable", WebhookAPI.enable),
    change("disable", WebhookAPI.disable),
    change("rotate_secret", WebhookAPI.rotateSecret),
    change("test", WebhookAPI.test),
    change("recover", WebhookAPI.recover),
    webhook(.get, "webhook_endpoints/{endpointId}/attempts", "webhook_attempts", WebhookAPI.endpointAttempts),
    webhook(.get, "webhook_events/{eventId}/attempts", "webhook_attempts", WebhookAPI.eventAttempts),
    webhook(
      .post, "webhook_events/{eventId}/deliveries/{endpointId}/resend", "webhook_deliveries_resend",
      WebhookAPI.resend),
  ]

  /// Where Apple posts its notifications: our own path, and Cleeng's.
  static let notifications = [
    Route(
      .post, "/apple/notifications", under: nil, "notifications",
      .apple { intake, call throws(Problem) in try await intake.take(call.request) }),
    Route(
      .post, "/1.0/in_app/subscriptions/apple/status_update_notification/{publisherId}", under: nil, "notifications",
      .apple { intake, call throws(Problem) in try await intake.take(call.request, of: call[.publisherId]) }),
  ]

  /// Whether Apple posts notifications to a path.
  static func isNotification(_ segments: [String]) -> Bool {
    notifications.contains { $0.values(in: segments) != nil }
  }

  /// The routes that every role serves, see `HealthEndpoints`.
  private static let health = ["livez", "readyz", "metrics"].map { name in
    Route(.get, "/\(name)", under: nil, "health", .anyone { $0.health($1) })
  }

  fileprivate typealias SynchronizationMethod =
    @LoopActor @Sendable (SynchronizationAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias CustomerMethod =
    @LoopActor @Sendable (CustomerAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias PurchaseMethod =
    @LoopActor @Sendable (PurchaseAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias ConsentMethod =
    @LoopActor @Sendable (ConsentAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias RefundMethod =
    @LoopActor @Sendable (RefundAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias GrantMethod =
    @LoopActor @Sendable (GrantAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias SandboxOverrideMethod =
    @LoopActor @Sendable (SandboxOverrideAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse
  fileprivate typealias WebhookMethod =
    @LoopActor @Sendable (WebhookAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse

  private static func customer(
    _ method: Method, _ path: String, _ scope: TokenScope, _ answer: @escaping CustomerMethod
  ) -> Route {
    Route(
      method, "/customers" + path, under: "storekit2", "customer",
      .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.customers(for: call.caller))(call) }
    )
  }

  /// What a customer has.
  private static func customers(_ path: String, _ label: String, _ answer: @escaping PurchaseMethod) -> Route {
    Route(.get, "/customers/{customerId}/" + path, under: "storekit2", label, .publisherOrCustomer(.read, answer))
  }

  private static func consent(_ method: Method, _ scope: TokenScope, _ answer: @escaping ConsentMethod) -> Route {
    Route(
      method, "/customers/{customerId}/consent", under: "storekit2", "consent",
      .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.consents(for: call.caller))(call) })
  }

  private static func grant(
    _ method: Method, _ path: String, _ scope: TokenScope, _ answer: @escaping GrantMethod
  ) -> Route {
    Route(
      method, "/customers/{customerId}/grants" + path, under: "storekit2", "grants",
      .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.grants(for: call.caller))(call) })
  }

  private static func sandboxAccess(
    _ method: Method, _ scope: TokenScope, _ answer: @escaping SandboxOverrideMethod
  ) -> Route {
    Route(
      method, "/customers/{customerId}/sandbox-access", under: "storekit2", "sandbox_access",
      .publisher(scope) { gateway, call throws(Problem) in
        try await answer(gateway.sandboxOverrides(for: call.caller))(call)
      })
  }

  private static func refund(
    _ method: Method, _ path: String, _ scope: TokenScope, _ answer: @escaping RefundMethod
  ) -> Route {
    Route(
      method, "/refund-requests" + path, under: "storekit2", "refund_requests",
      .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.refunds(for: call.caller))(call) })
  }

  private static func webhook(
    _ method: Method, _ path: String, _ label: String, _ answer: @escaping WebhookMethod
  ) -> Route {
    Route(method, "/3.1/" + path, under: "3.1", label, .publisher(.endpoints, answer))
  }

  /// A change of an endpoint. The last segment of the path names it.
  private static func change(_ name: String, _ answer: @escaping WebhookMethod) -> Route {
    webhook(.post, "webhook_endpoints/{endpointId}/\(name)", "webhook_endpoints_\(name)", answer)
  }
}

extension Route.Access {
  fileprivate static func publisherOrCustomer(_ scope: TokenScope, _ answer: @escaping Route.SynchronizationMethod)
    -> Self
  {
    .publisherOrCustomer(scope) { gateway, call throws(Problem) in
      try await answer(gateway.synchronizations(for: call.caller))(call)
    }
  }

  fileprivate static func publisher(_ scope: TokenScope, _ answer: @escaping Route.SynchronizationMethod) -> Self {
    .publisher(scope) { gateway, call throws(Problem) in
      try await answer(gateway.synchronizations(for: call.caller))(call)
    }
  }

  fileprivate static func publisherOrCustomer(_ scope: TokenScope, _ answer: @escaping Route.PurchaseMethod) -> Self {
    .publisherOrCustomer(scope) { gateway, call throws(Problem) in
      try await answer(gateway.purchases(for: call.caller))(call)
    }
  }

  fileprivate static func publisher(_ scope: TokenScope, _ answer: @escaping Route.PurchaseMethod) -> Self {
    .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.purchases(for: call.caller))(call) }
  }

  fileprivate static func publisher(_ scope: TokenScope, _ answer: @escaping Route.WebhookMethod) -> Self {
    .publisher(scope) { gateway, call throws(Problem) in try await answer(gateway.webhooks(for: call.caller))(call) }
  }
}
