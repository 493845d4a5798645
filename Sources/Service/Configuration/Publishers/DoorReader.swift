public import Domain
public import Formats
public import JSON

/// Reads a publisher's keys of one door: `doors.DOOR.…`. Each function takes the key's name behind that.
public struct DoorReader {
  private let publisher: PublisherReader
  private let key: String
  /// Who may become the owner of a purchase, where the door's keys are silent.
  public let ownership: OwnershipPolicy
  /// Whether the publisher registers its customers.
  public let customers: Publisher.CustomerPolicy
  /// Whether the publisher issues tokens to its customers.
  public let hasCustomerTokens: Bool

  init(
    _ publisher: PublisherReader, _ key: String, _ ownership: OwnershipPolicy, _ customers: Publisher.CustomerPolicy,
    hasCustomerTokens: Bool
  ) {
    (self.publisher, self.key) = (publisher, key)
    (self.ownership, self.customers, self.hasCustomerTokens) = (ownership, customers, hasCustomerTokens)
  }

  private var reader: SettingsReader { publisher.reader }

  private func key(_ name: String) -> String { "\(key).\(name)" }

  // MARK: What all doors have

  /// Whether the publisher has opened the door.
  ///
  /// - Parameter contract: names it for the reference.
  public func isOpen(_ contract: String) -> Bool {
    reader.bool(key("enabled"), false, "`true`: the publisher is served by \(contract).")
  }

  /// What the publisher decides for every door, without its customers.
  ///
  /// - Parameter restore: what the door does when another customer owns the purchase.
  public func policy(restore: OwnershipPolicy.Restore = .refuse) -> DoorPolicy {
    let key = key("customerPrefix")
    let prefix =
      reader.optionalString(
        key, "Text before the user's name in a request. Both together are the customer's id.") ?? ""
    if !prefix.isEmpty, !CustomerId(prefix).isValid || prefix.utf8.count > Self.longestPrefix {
      reader.note(
        key, "expected at most \(Self.longestPrefix) bytes with which the id of a customer may begin")
    }
    let ownership = ownership(restore: restore)
    return DoorPolicy(
      customerPrefix: prefix, ownership: ownership, maxRequestsPerSecond: maxRequestsPerSecond())
  }

  /// Who may become the owner of a purchase through the door.
  ///
  /// - Parameter restore: what the door does when another customer owns the purchase.
  public func ownership(restore: OwnershipPolicy.Restore) -> OwnershipPolicy {
    publisher.ownership(of: key, like: ownership, restore: restore)
  }

  /// The customers of a door whose vendor asks for no registration.
  public func openCustomers() -> Publisher.CustomerPolicy {
    reader.choice(key("customers"), .open, Self.customersMeaning)
  }

  /// The customers of a door that does as the publisher does; `nil` if it does.
  public func publishersCustomers() -> Publisher.CustomerPolicy? {
    let chosen = reader.choice(key("customers"), customers, Self.customersMeaning, shown: "`customers`")
    return chosen == customers ? nil : chosen
  }

  private static let customersMeaning =
    "As `customers`, for this door. `open`: the door accepts users whom only the app knows; `registered`: a backend "
    + "must put a user first."

  /// How many receipts a second one credential may send; `nil` if it may send any number.
  public func maxRequestsPerSecond() -> Int? {
    let limit = reader.int(
      key("maxRequestsPerSecond"), 0, 0...10_000,
      "How many receipts a second one credential may send to one gateway. All copies of an app have one key. 0: no limit."
    )
    return limit == 0 ? nil : Int(limit)
  }

  /// The rest of a customer's id is for the user's name.
  private static let longestPrefix = 64

  // MARK: What only some doors have

  /// Reads a text that may be missing.
  public func optionalString(_ name: String, _ meaning: String) -> String? {
    reader.optionalString(key(name), meaning)
  }

  /// Reads a list of texts that may be missing.
  public func strings(_ name: String, _ meaning: String) -> [String] { reader.strings(key(name), [], meaning) }

  /// Reads a list of hashes, each once. The file never holds the secrets themselves.
  ///
  /// - Parameter secret: what has the hash, for a mistake: `key`, `token`.
  public func hashes(_ name: String, of secret: String, _ meaning: String) -> [[UInt8]] {
    publisher.hashes(key(name), of: secret, meaning)
  }

  /// Reads a hash in hexadecimal; `nil` after a mistake.
  public func hash(_ text: String, _ name: String, of secret: String) -> [UInt8]? {
    publisher.hash(text, key(name), of: secret)
  }

  /// Notes a hash that stands twice in a list.
  public func noteRepetition(in hashes: [[UInt8]], _ name: String) {
    if Set(hashes).count < hashes.count { note(name, "expected no hash twice") }
  }

  /// Reads a list of objects that may be missing. They may hold secrets, so no mistake shows them.
  ///
  /// - Parameter members: what each object has, for a mistake.
  public func objects(_ name: String, each members: String, _ meaning: String) -> [[ExactText: JSONValue]] {
    let form = Form<[[ExactText: JSONValue]]>(
      expected: "a list of objects, each with \(members)", isSecret: true,
      json: { value in
        guard case .array(let elements) = value else { return nil }
        let objects = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        return objects.count == elements.count ? objects : nil
      },
      text: { _ in nil })
    return reader.read(key(name), [], "none", meaning, form) ?? []
  }

  /// Notes every member of an object in a list that is not a known one.
  ///
  /// - Parameters:
  ///   - name: the object's place, such as `clientTokens[0]`.
  ///   - known: the names of the members that there are.
  public func noteUnknownMembers(of object: [ExactText: JSONValue], at name: String, except known: [String]) {
    reader.noteUnknownMembers(of: object, at: key(name), except: known)
  }

  /// Notes a mistake.
  public func note(_ name: String, _ problem: String) { reader.note(key(name), problem) }
}

extension PublisherReader {
  /// The doors that the publisher has opened. The reader checks the keys of a closed door too.
  func doors(
    _ own: OwnershipPolicy, _ customers: Publisher.CustomerPolicy, _ tokens: Publisher.CustomerTokenPolicy?
  ) -> OpenDoors {
    OpenDoors(
      doors.compactMap { door in
        door.read(DoorReader(self, door.key, own, customers, hasCustomerTokens: tokens != nil))
      })
  }
}
