/// A door that a publisher has opened: what the publisher decided, and what the door does besides its requests.
///
/// It observes every change of the publisher's purchases, and it decides by value: it reads nothing, and it sends
/// nothing.
public protocol OpenDoor: Sendable {
  /// The door's name.
  var id: Door { get }
  /// What the publisher decides for every door.
  var policy: DoorPolicy { get }
  /// The secrets that its callers send.
  var credentials: [DoorCredential] { get }
  /// What the publisher decided about the door's timers, as texts: ``Publisher/rulesSHA256`` has them. Defaults leave
  /// no text.
  var rules: [String] { get }

  /// Returns the events about a change of a purchase, in the order in which they are published.
  func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event]

  /// Returns the events of a job that ended without a purchase.
  ///
  /// - Parameter now: milliseconds since 1970.
  func events(ofFailed job: Job, _ result: SynchronizationResult, _ publisher: Publisher, now: Int64) -> [Event]

  /// Returns when the door wants a purchase looked at, in milliseconds since 1970.
  ///
  /// - Parameter now: the time of the last look, in milliseconds since 1970.
  /// - Returns: `nil` if the times that always count are enough.
  func nextLook(after now: Int64, at purchase: Purchase) -> Int64?
}

extension OpenDoor {
  /// None: its callers have the publisher's own credentials.
  public var credentials: [DoorCredential] { [] }
  /// None.
  public var rules: [String] { [] }

  /// Returns no events.
  public func events(of change: PurchaseChange, _ publisher: Publisher) -> [Event] { [] }

  /// Returns no events.
  public func events(
    ofFailed job: Job, _ result: SynchronizationResult, _ publisher: Publisher, now: Int64
  ) -> [Event] { [] }

  /// Returns `nil`.
  public func nextLook(after now: Int64, at purchase: Purchase) -> Int64? { nil }
}

/// The doors that a publisher has opened. A door is closed until the publisher's file opens it.
public struct OpenDoors: Sendable {
  /// In the order of the registry.
  public let all: [any OpenDoor]

  /// Creates the set; without arguments, all doors are closed.
  public init(_ all: [any OpenDoor] = []) { self.all = all }

  /// Returns the door of a vendor; `nil` while it is closed.
  public func open<Kind: OpenDoor>(_ kind: Kind.Type) -> Kind? {
    for case let door as Kind in all { return door }
    return nil
  }

  /// What the publisher decided for one door; `nil` while the door is closed.
  public func policy(of door: Door) -> DoorPolicy? { all.first { $0.id == door }?.policy }
}

/// A secret that callers of a door send, as the publisher's file has it.
public struct DoorCredential: Sendable {
  /// The key of the secrets in the door's part of the file.
  public let key: String
  /// Names the set of secrets among which the door looks. Its callers may know these texts.
  public let ring: [String]
  /// SHA-256 of the secret, `SHA256.size` bytes.
  public let hash: [UInt8]
  /// What the secret stands for, in the door's own words; may be empty.
  public let holder: String

  /// Creates a credential.
  public init(_ key: String, ring: [String] = [], hash: [UInt8], holder: String = "") {
    self.key = key
    self.ring = ring
    self.hash = hash
    self.holder = holder
  }
}
