package import Domain

/// Mbaasy's client API for receipts.
struct MbaasyDoor: OpenDoor, Equatable {
  var policy: DoorPolicy
  /// The tokens that apps send.
  var clientTokens: [ClientToken]
  /// When a purchase is looked at again, beside the times that always count.
  var recheck: RecheckLevels

  /// Creates an open door. As Mbaasy does, it takes users whom only the app knows, unless the publisher forbids it.
  init(
    policy: DoorPolicy = DoorPolicy(customers: .open), clientTokens: [ClientToken], recheck: RecheckLevels = []
  ) {
    self.policy = policy
    self.clientTokens = clientTokens
    self.recheck = recheck
  }

  var id: Door { .mbaasy }

  var credentials: [DoorCredential] {
    clientTokens.map { DoorCredential("clientTokens", hash: $0.hash, holder: $0.bundleId.text) }
  }

  var rules: [String] { recheck.isEmpty ? [] : ["recheck:\(recheck.rawValue)"] }

  func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    MbaasyEvents.of(change, self, publisher)
  }

  func nextLook(after now: Int64, at purchase: Purchase) -> Int64? {
    MbaasyRecheck.next(after: now, purchase, levels: recheck)
  }

  /// The token of one app.
  struct ClientToken: Sendable, Equatable {
    /// SHA-256 of the token.
    let hash: [UInt8]
    /// The app whose receipts the token may send.
    let bundleId: BundleId
  }

  /// How often a purchase is looked at while it runs.
  ///
  /// It is always looked at after the end of each period, and every 24 hours while Apple tries to charge, with or
  /// without a billing grace period.
  struct RecheckLevels: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// Every 28 days.
    static let every28Days = RecheckLevels(rawValue: 1)
    /// Every 7 days once the period's end is less than 28 days away.
    static let every7Days = RecheckLevels(rawValue: 2)
    /// Every 24 hours once the period's end is less than 7 days away.
    static let every24Hours = RecheckLevels(rawValue: 4)
  }
}

extension Door {
  /// Mbaasy's client API for receipts. Apps send their own token.
  package static let mbaasy = Door("mbaasy", asker: .app)
}

extension OpenDoors {
  /// The publisher's door; `nil` while it is closed.
  var mbaasy: MbaasyDoor? { open(MbaasyDoor.self) }
}
