package import Domain

/// The receipt validator of iaptic.
struct IapticDoor: OpenDoor, Equatable {
  var policy: DoorPolicy
  /// The name of the app in requests. No two publishers have the same one.
  var appName: String
  /// SHA-256 of each public key, which the app holds. It validates receipts.
  var apiKeyHashes: [[UInt8]]
  /// SHA-256 of each secret key, which a backend holds. It also reads purchases.
  var secretKeyHashes: [[UInt8]]

  /// Creates an open door. As iaptic does, it takes users whom only the app knows, unless the publisher forbids it.
  init(
    policy: DoorPolicy = DoorPolicy(customers: .open), appName: String, apiKeyHashes: [[UInt8]],
    secretKeyHashes: [[UInt8]] = []
  ) {
    self.policy = policy
    self.appName = appName
    self.apiKeyHashes = apiKeyHashes
    self.secretKeyHashes = secretKeyHashes
  }

  var id: Door { .iaptic }

  var credentials: [DoorCredential] {
    apiKeyHashes.map { DoorCredential("apiKeyHashes", ring: Self.ring(of: appName, isSecret: false), hash: $0) }
      + secretKeyHashes.map {
        DoorCredential("secretKeyHashes", ring: Self.ring(of: appName, isSecret: true), hash: $0)
      }
  }

  /// The keys of one kind that an app has.
  static func ring(of appName: String, isSecret: Bool) -> [String] { [isSecret ? "secret" : "api", appName] }

  func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    IapticEvents.of(change, self, publisher)
  }
}

extension Door {
  /// The receipt validator of iaptic (Fovea.Billing). Apps send their own key. A backend may send a secret one, and
  /// counts as the app.
  package static let iaptic = Door("iaptic", asker: .app)
}

extension OpenDoors {
  /// The publisher's door; `nil` while it is closed.
  var iaptic: IapticDoor? { open(IapticDoor.self) }
}
