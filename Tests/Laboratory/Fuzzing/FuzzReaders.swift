import AppStore
import Configuration
import Crypto
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Service
import Transport

@testable import Doors
@testable import Gateway

/// All that the gateway reads from a request before it asks a server.
@LoopActor
enum FuzzReaders {
  private static let now: Int64 = 1_790_000_000_000

  /// A publisher with every door. ops/development/fuzz.py knows its credentials.
  private static let publishers = Publishers([
    Publisher(
      id: 7, customers: .open, tokenHashes: [hash("token-of-publisher-7")],
      customerTokens: .init(key: .hs256(Array("0123456789abcdef0123456789abcdef".utf8)), customerClaim: "customerId"),
      apps: [], offers: OfferCatalog([]),
      doors: OpenDoors([
        CleengDoor(), IapticDoor(appName: "app", apiKeyHashes: [hash("key-of-iaptic-door")]), PlayFabDoor(),
        MbaasyDoor(clientTokens: [.init(hash: hash("client-token-1"), bundleId: "b")]),
      ]),
      webhooks: [])
  ])

  static let routes = RouteTable(DoorRegistry.all)
  static let authenticator = Authenticator(publishers: publishers, now: now / 1000)
  private static let proxies = [AddressBlock("127.0.0.0/8")].compactMap(\.self)

  private static func hash(_ text: String) -> [UInt8] { SHA256.hash(Array(text.utf8)) }

  /// Reads a request in every way in which a route could, and answers it.
  static func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
    if request.path == ["livez"] { return .text(200, "live\n") }
    if let preflight = CrossOrigin.preflight(request, routes.ofDoors) { return preflight }
    readHead(request)
    readQuery(request)
    readBody(request)
    readDoors(request)
    do {
      let (route, values) = try routes.find(request.method, request.path)
      for value in values.values {
        _ = (EndpointCursor(value), SynchronizationId.isValid(value), CustomerId(value).isValid)
      }
      return .text(200, route.label)
    } catch {
      return routes.refusal(error, of: request)
    }
  }

  private static func readHead(_ request: HTTPServerRequest) {
    _ = try? authenticator.caller(of: request)
    _ = ClientAddress.of(peer: "127.0.0.1", forwardedFor: request.headers.map(\.value), behind: proxies)
    _ = TraceParent(of: request.header("traceparent"))
  }

  private static func readQuery(_ request: HTTPServerRequest) {
    if let page = try? PageRequest(request, others: request.query.map(\.name)), let cursor = page.cursor {
      _ = EndpointCursor(cursor)
      _ = Grants.Place(cursor: cursor)
    }
    _ = try? AuditRequest(request)
    _ = try? requestedEmail(request)
    _ = try? IapticCustomersRequest(request)
  }

  private static func readBody(_ request: HTTPServerRequest) {
    _ = try? RegistrationRequest(request)
    _ = try? requestedCustomer("42", request)
    _ = try? requestedWish(request)
    _ = try? requestedConsent(request, now: now)
    _ = try? requestedGrant(
      request, customer: CustomerKey(publisherId: 7, id: "42"), fresh: GrantId(random: Array(repeating: 1, count: 16)),
      now: now)
    _ = try? requestedSandboxOverride(request, customer: CustomerKey(publisherId: 7, id: "42"), now: now)
    if let body = try? jsonBody(request) {
      let addresses = WebhookAddress()
      _ = try? EndpointRequest(changes: body, addresses, DoorRegistry.catalog)
      _ = try? EndpointRequest.endpoint(body, id: "e", addresses, DoorRegistry.catalog) { _ in [1] }
      _ = try? subscriptions(body, topic: "t", addresses, newId: { "e" }, newKey: { [1] })
    }
    if case .version1(let sealed)? = try? PostedNotification(request.body) { _ = try? sealed.hint() }
  }

  private static func readDoors(_ request: HTTPServerRequest) {
    _ = try? CleengRequest(request, isByCustomer: true)
    _ = try? PlayFabCaller(request, authenticator)
    _ = try? PlayFabRestoreRequest(request)
    _ = try? PlayFabValidateRequest(request)
    _ = try? MbaasyAuthentication(request, publishers, now: 0)
    _ = try? MbaasyRequest(request.body, DoorPolicy(customerPrefix: "p:"))
    if let credential = IapticCredential(request) { _ = credential.validator(publishers, now: 0) }
    if let body = try? jsonBody(request) {
      _ = IapticRequest.hasTextCode(body)
      _ = try? IapticRequest(body)
    }
  }
}
