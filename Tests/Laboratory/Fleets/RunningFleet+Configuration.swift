import Crypto
public import Domain
import EventLoop
import FoundationEssentials
import Simulator

extension RunningFleet {
  /// Writes the configuration of the roles: delays short enough for a test.
  func writeConfiguration(secret: [UInt8]) throws {
    let servers = TestServers.current!
    try write(
      "countersign.json",
      """
      {
        "rabbitmq": {"url": "\(servers.rabbitmqURL())", "prefix": "\(prefix)"\(servers.authoritySetting)},
        "redis": {"url": "\(servers.redisURL())", "prefix": "\(prefix):"\(servers.authoritySetting)},
        "ledger": {
          "url": "\(servers.ledgerURL(database: database, ports: ledgerPorts))"\(servers.authoritySetting),
          "keysFile": "keys.json"
        },
        "appStore": {
          "productionURL": "https://127.0.0.1:\(simulator.port)/production",
          "sandboxURL": "https://127.0.0.1:\(simulator.port)/sandbox",
          "rootFiles": ["simulator/root.der"], "caFile": "simulator/tls-ca.pem", "budgetScale": 100
        },
        "gateway": {
          "listen": "127.0.0.1:0", "publishTimeoutSeconds": 3, "maxConnectionsPerAddress": 4096,
          "limits": {
            "registrationsPerSecond": 1000000, "customerRegistrationsPerSecond": 1000000, "openPerCustomer": 1000000,
            "openPerPublisher": 100000000, "readsPerSecond": 1000000, "customerReadsPerSecond": 1000000,
            "writesPerSecond": 1000000
          }
        },
        "worker": {
          "listen": "127.0.0.1:0", "concurrency": 50, "leaseSeconds": 3, "notFoundRetries": 1,
          "retryScheduleSeconds": [0.2, 0.2, 0.2, 1, 1], "sweepIntervalSeconds": 0.5, "sweepAfterSeconds": 4
        },
        "notifier": {
          "listen": "127.0.0.1:0", "retryScheduleSeconds": [0.2, 0.2, 1], "allowsInsecureEndpoints": true,
          "allowedNetworks": ["127.0.0.0/8"]
        },
        "shutdownGraceSeconds": 10
      }
      """)
    try writePublisher(webhookURL: webhookURL)
    try writePublisher(
      Self.openPublisher,
      """
      "customers": "open", "apps": [\(Self.releasedApp)], "offers": \(Self.offers),
      "sandboxAccess": [\(Self.sandboxCustomer)]
      """)
    try writePublisher(Self.inactivePublisher, "\"customers\": \"open\"")
    try write("jwt.secret", Self.jwtSecret)
    try writeKeys("keys.json", ["first"])
    try write("webhook.secret", "whsec_" + Base64.encode(secret))
  }

  /// Gives the publisher's endpoint a name instead of a numeric address.
  ///
  /// A role refuses to start with a numeric address that `notifier.allowedNetworks` does not admit.
  public func nameEndpoint() throws {
    try writePublisher(webhookURL: webhookURL.replacing("127.0.0.1", with: "localhost"))
  }

  /// Changes the text of the publisher's file.
  public func changePublisher(_ change: (String) -> String) throws {
    let url = URL(filePath: "\(folder)/publishers/\(Self.publisher).json")
    let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
    try Data(change(text).utf8).write(to: url)
  }

  private func writePublisher(webhookURL: String) throws {
    try writePublisher(
      Self.publisher,
      """
      "apps": [\(Self.app)], "offers": \(Self.offers), "sandboxAccess": "everybody",
      "customerTokens": {"algorithm": "HS256", "secretFile": "../jwt.secret"},
      "webhooks": [{"id": "main", "url": "\(webhookURL)", "secretFile": "../webhook.secret"}],
      "notifications": {"sharedSecretHashes": ["\(Hex.encode(SHA256.hash(Array(Self.sharedSecret.utf8))))"]},
      "doors": {\(hasDoors ? Self.doors : "")}
      """)
  }

  /// The publisher's shared secret of App Store Connect, which old notifications carry.
  public nonisolated static let sharedSecret = "the shared secret"

  /// The only customer of the open publisher whose purchases from the sandbox give access.
  public nonisolated static let sandboxCustomer: Int64 = 8

  /// The app as a publisher's file has it. It is not released, so a 401 from production leads to the sandbox.
  public nonisolated static let app = app(isReleased: false)
  /// The same app, but released: a 401 from production is a mistake.
  public nonisolated static let releasedApp = app(isReleased: true)

  /// Another app of the same team, also released.
  public nonisolated static let otherApp = app("com.example.other", 987_654_321, isReleased: true)

  private nonisolated static func app(
    _ bundleId: String = "com.example.app", _ appAppleId: Int64 = 1_234_567_890, isReleased: Bool
  ) -> String {
    """
    {"bundleId": "\(bundleId)", "appAppleId": \(appAppleId), "issuerId": "issuer", "keyId": "KEY1",
     "privateKeyFile": "../simulator/AuthKey_KEY1.p8", "released": \(isReleased)}
    """
  }

  /// The offers of every publisher. The prices are those of the simulator.
  public nonisolated static let offers = """
    [{"offerId": "S1", "productIds": ["com.example.app.monthly"], "tags": ["video", "sport"],
      "displayName": "Video, by the month", "itemClass": "subscriptions", "catalogVersion": "5",
      "price": {"amount": 999, "currency": "USD"}, "coupons": ["SUMMER"]},
     {"offerId": "S2", "productIds": ["com.example.app.yearly"], "tags": ["video"],
      "price": {"amount": 9999, "currency": "USD"}},
     {"offerId": "A1", "productIds": ["com.example.app.lifetime", "com.example.app.coins"]},
     {"offerId": "P1", "productIds": ["com.example.app.pass"], "accessDays": 30000}]
    """

  /// Writes a publisher's file; replaces an old one.
  public func writePublisher(_ id: PublisherId, _ members: String) throws {
    try write("publishers/\(id).json", Self.publisherText(id, members))
  }

  /// The text of a publisher's file.
  public nonisolated static func publisherText(_ id: PublisherId, _ members: String) -> String {
    let hash = Hex.encode(SHA256.hash(Array(token(of: id).utf8)))
    return "{\"publisherId\": \(id), \"tokenHashes\": [\"\(hash)\"], \(members)}"
  }

  /// Writes a file for `ledger.keysFile`. An id always has the same key.
  public func writeKeys(_ name: String, _ ids: [String]) throws {
    let keys = ids.map { #"{"id": "\#($0)", "key": "\#(Base64.encode(SHA256.hash(Array($0.utf8))))"}"# }
    try write(name, #"{"keys": [\#(keys.joined(separator: ", "))]}"#)
  }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
  }
}
