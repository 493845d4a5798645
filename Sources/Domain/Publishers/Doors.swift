/// The doors that a publisher has opened. A door is closed until the publisher's file opens it.
public struct Doors: Sendable {
  /// Cleeng's StoreKit 1 contract; `nil` while it is closed. The same holds for the others.
  public var cleeng: CleengDoor?
  public var iaptic: IapticDoor?
  public var playfab: PlayFabDoor?
  public var mbaasy: MbaasyDoor?

  /// Creates the set; without arguments, all doors are closed.
  public init(
    cleeng: CleengDoor? = nil, iaptic: IapticDoor? = nil, playfab: PlayFabDoor? = nil, mbaasy: MbaasyDoor? = nil
  ) {
    self.cleeng = cleeng
    self.iaptic = iaptic
    self.playfab = playfab
    self.mbaasy = mbaasy
  }

  /// What the publisher decided for one door; `nil` while the door is closed.
  public func policy(of door: Door) -> DoorPolicy? {
    switch door {
    case .cleeng: cleeng?.policy
    case .iaptic: iaptic?.policy
    case .playfab: playfab?.policy
    case .mbaasy: mbaasy?.policy
    }
  }
}

/// What a publisher decides for every door.
public struct DoorPolicy: Sendable, Equatable {
  /// Stands before the vendor's name of a user, and both together are the customer's id.
  ///
  /// The customer of a verified token is the publisher's own, so nothing stands before that id.
  public var customerPrefix: String
  /// Whether a request may only name a customer whom the publisher has registered; `nil` if the publisher's own
  /// `customers` decides.
  public var customers: Publisher.CustomerPolicy?
  /// Who may take a purchase through this door.
  public var ownership: OwnershipPolicy
  /// How many receipts a second one credential may send to one gateway; `nil` if it may send any number.
  public var maxRequestsPerSecond: Int?

  /// Creates a policy.
  public init(
    customerPrefix: String = "", customers: Publisher.CustomerPolicy? = nil,
    ownership: OwnershipPolicy = OwnershipPolicy(), maxRequestsPerSecond: Int? = nil
  ) {
    self.customerPrefix = customerPrefix
    self.customers = customers
    self.ownership = ownership
    self.maxRequestsPerSecond = maxRequestsPerSecond
  }

  /// The customer's id of a vendor's user.
  public func customerId(of user: String) -> String { customerPrefix + user }

  /// The vendor's name of a customer; `nil` for a customer who came another way.
  public func user(of customerId: String) -> String? {
    let prefix = customerPrefix.utf8
    guard customerId.utf8.starts(with: prefix), customerId.utf8.count > prefix.count else { return nil }
    return String(customerId.utf8.dropFirst(prefix.count))
  }
}

/// Cleeng's StoreKit 1 contract.
public struct CleengDoor: Sendable, Equatable {
  public var policy: DoorPolicy

  /// Creates an open door. A payment moves the purchase to the customer who sends it, unless the publisher forbids it.
  public init(policy: DoorPolicy = DoorPolicy(ownership: OwnershipPolicy(restore: .transfer))) { self.policy = policy }
}

/// The receipt validator of iaptic.
public struct IapticDoor: Sendable, Equatable {
  public var policy: DoorPolicy
  /// The name of the app in requests. No two publishers have the same one.
  public var appName: String
  /// SHA-256 of each public key, which the app holds. It validates receipts.
  public var apiKeyHashes: [[UInt8]]
  /// SHA-256 of each secret key, which a backend holds. It also reads purchases.
  public var secretKeyHashes: [[UInt8]]

  /// Creates an open door. As iaptic does, it takes users whom only the app knows, unless the publisher forbids it.
  public init(
    policy: DoorPolicy = DoorPolicy(customers: .open), appName: String, apiKeyHashes: [[UInt8]],
    secretKeyHashes: [[UInt8]] = []
  ) {
    self.policy = policy
    self.appName = appName
    self.apiKeyHashes = apiKeyHashes
    self.secretKeyHashes = secretKeyHashes
  }
}

/// PlayFab's client API. A session ticket is the publisher's customer token.
public struct PlayFabDoor: Sendable, Equatable {
  public var policy: DoorPolicy

  /// Creates an open door.
  public init(policy: DoorPolicy = DoorPolicy()) { self.policy = policy }
}

/// Mbaasy's client API for receipts.
public struct MbaasyDoor: Sendable, Equatable {
  public var policy: DoorPolicy
  /// The tokens that apps send.
  public var clientTokens: [ClientToken]
  /// When a purchase is looked at again, beside the times that always count.
  public var recheck: RecheckLevels

  /// Creates an open door. As Mbaasy does, it takes users whom only the app knows, unless the publisher forbids it.
  public init(
    policy: DoorPolicy = DoorPolicy(customers: .open), clientTokens: [ClientToken], recheck: RecheckLevels = []
  ) {
    self.policy = policy
    self.clientTokens = clientTokens
    self.recheck = recheck
  }

  /// The token of one app.
  public struct ClientToken: Sendable, Equatable {
    /// SHA-256 of the token.
    public let hash: [UInt8]
    /// The app whose receipts the token may send.
    public let bundleId: String

    /// Creates a token.
    public init(hash: [UInt8], bundleId: String) {
      self.hash = hash
      self.bundleId = bundleId
    }
  }

  /// How often a purchase is looked at while it runs.
  ///
  /// It is always looked at after the end of each period, and every 24 hours while Apple tries to charge, with or
  /// without a billing grace period.
  public struct RecheckLevels: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Every 28 days.
    public static let every28Days = RecheckLevels(rawValue: 1)
    /// Every 7 days once the period's end is less than 28 days away.
    public static let every7Days = RecheckLevels(rawValue: 2)
    /// Every 24 hours once the period's end is less than 7 days away.
    public static let every24Hours = RecheckLevels(rawValue: 4)
  }
}
