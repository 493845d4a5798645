import Domain
import Formats
import JSON

extension PublisherReader {
  /// The doors that the publisher has opened. The reader checks the keys of a closed door too.
  func doors(
    _ own: OwnershipPolicy, _ customers: Publisher.CustomerPolicy, _ customerTokens: Publisher.CustomerTokenPolicy?
  ) -> Doors {
    Doors(
      cleeng: cleeng(own, customers), iaptic: iaptic(own), playfab: playfab(own, customers, customerTokens),
      mbaasy: mbaasy(own))
  }

  private func cleeng(_ own: OwnershipPolicy, _ customers: Publisher.CustomerPolicy) -> CleengDoor? {
    let isOpen = isOpen("doors.cleeng", "Cleeng's StoreKit 1 contract, `/apple/payment`")
    var policy = policy("doors.cleeng", own, restore: .transfer)
    policy.customers = self.customers(of: "doors.cleeng", like: customers)
    return isOpen ? CleengDoor(policy: policy) : nil
  }

  private func iaptic(_ own: OwnershipPolicy) -> IapticDoor? {
    let isOpen = isOpen("doors.iaptic", "the receipt validator of iaptic, `/v1/validate`")
    var policy = policy("doors.iaptic", own)
    policy.customers = openCustomers(of: "doors.iaptic")
    let appName = reader.optionalString(
      "doors.iaptic.appName", "Name of the app in requests; required for this door, and no other publisher has it.")
    let apiKeys = hashes(
      "doors.iaptic.apiKeyHashes", of: "key", "SHA-256 of each public key, which the app holds, in hexadecimal.")
    let secretKeys = hashes(
      "doors.iaptic.secretKeyHashes", of: "key", "SHA-256 of each secret key, which a backend holds, in hexadecimal.")
    noteRepetition(in: apiKeys, "doors.iaptic.apiKeyHashes")
    noteRepetition(in: secretKeys, "doors.iaptic.secretKeyHashes")
    if !Set(apiKeys).isDisjoint(with: secretKeys) {
      // Everybody can read the public key in the app.
      reader.note("doors.iaptic.secretKeyHashes", "has a hash of apiKeyHashes, expected secret keys")
    }
    guard isOpen else { return nil }
    if appName == nil { reader.note("doors.iaptic.appName", "is missing, expected a string, since the door is open") }
    if apiKeys.isEmpty {
      reader.note("doors.iaptic.apiKeyHashes", "is empty, expected the hash of a key, since the door is open")
    }
    return IapticDoor(policy: policy, appName: appName ?? "", apiKeyHashes: apiKeys, secretKeyHashes: secretKeys)
  }

  private func playfab(
    _ own: OwnershipPolicy, _ customers: Publisher.CustomerPolicy, _ tokens: Publisher.CustomerTokenPolicy?
  ) -> PlayFabDoor? {
    let isOpen = isOpen("doors.playfab", "PlayFab's client API, `/Client/RestoreIOSPurchases`")
    // The customer of a session ticket is the publisher's own, so no prefix stands before that id.
    let ownership = ownership(of: "doors.playfab", like: own, restore: .refuse)
    let policy = DoorPolicy(
      customers: self.customers(of: "doors.playfab", like: customers), ownership: ownership,
      maxRequestsPerSecond: maxRequestsPerSecond("doors.playfab"))
    guard isOpen else { return nil }
    if tokens == nil {
      reader.note("doors.playfab.enabled", "needs customerTokens, since a session ticket is a customer's token")
    }
    return PlayFabDoor(policy: policy)
  }

  private func mbaasy(_ own: OwnershipPolicy) -> MbaasyDoor? {
    let isOpen = isOpen("doors.mbaasy", "Mbaasy's client API, `/client/itunes_connect/receipts`")
    var policy = policy("doors.mbaasy", own)
    policy.customers = openCustomers(of: "doors.mbaasy")
    let tokens = clientTokens()
    noteRepetition(in: tokens.map(\.hash), "doors.mbaasy.clientTokens")
    let recheck = recheckLevels()
    guard isOpen else { return nil }
    if tokens.isEmpty {
      reader.note("doors.mbaasy.clientTokens", "is empty, expected a token of an app, since the door is open")
    }
    return MbaasyDoor(policy: policy, clientTokens: tokens, recheck: recheck)
  }

  // MARK: What all doors have

  private func isOpen(_ door: String, _ contract: String) -> Bool {
    reader.bool("\(door).enabled", false, "`true`: the publisher is served by \(contract).")
  }

  private func policy(
    _ door: String, _ own: OwnershipPolicy, restore: OwnershipPolicy.Restore = .refuse
  ) -> DoorPolicy {
    let key = "\(door).customerPrefix"
    let prefix =
      reader.optionalString(
        key, "Stands before the user's name of a request; both together are the customer's id.") ?? ""
    if !prefix.isEmpty, !CustomerId.isValid(prefix) || prefix.utf8.count > Self.longestPrefix {
      reader.note(
        key, "expected at most \(Self.longestPrefix) bytes with which the id of a customer may begin")
    }
    let ownership = ownership(of: door, like: own, restore: restore)
    return DoorPolicy(
      customerPrefix: prefix, ownership: ownership, maxRequestsPerSecond: maxRequestsPerSecond(door))
  }

  /// The customers of a door whose vendor asks for no registration.
  private func openCustomers(of door: String) -> Publisher.CustomerPolicy {
    reader.choice("\(door).customers", .open, Self.customersMeaning)
  }

  /// The customers of a door that does as the publisher does; `nil` if it does.
  private func customers(of door: String, like own: Publisher.CustomerPolicy) -> Publisher.CustomerPolicy? {
    let chosen = reader.choice("\(door).customers", own, Self.customersMeaning, shown: "`customers`")
    return chosen == own ? nil : chosen
  }

  private static let customersMeaning =
    "As `customers`, for this door. `open`: it takes users whom only the app knows; `registered`: a user must be put "
    + "first."

  private func maxRequestsPerSecond(_ door: String) -> Int? {
    let limit = reader.int(
      "\(door).maxRequestsPerSecond", 0, 0...10_000,
      "How many receipts a second one credential may send to one gateway. All copies of an app have one key. 0: no limit."
    )
    return limit == 0 ? nil : Int(limit)
  }

  /// The rest of a customer's id is for the user's name.
  private static let longestPrefix = 64

  private func noteRepetition(in hashes: [[UInt8]], _ key: String) {
    if Set(hashes).count < hashes.count { reader.note(key, "expected no hash twice") }
  }

  // MARK: Mbaasy

  private func clientTokens() -> [MbaasyDoor.ClientToken] {
    let key = "doors.mbaasy.clientTokens"
    let form = Form<[[ExactText: JSONValue]]>(
      expected: "a list of objects, each with bundleId and tokenHash", isSecret: true,
      json: { value in
        guard case .array(let elements) = value else { return nil }
        let objects = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        return objects.count == elements.count ? objects : nil
      },
      text: { _ in nil })
    let list = reader.read(
      key, [], "none",
      "The tokens of apps, each as `{\"bundleId\": …, \"tokenHash\": …}` with the SHA-256 of the token in hexadecimal.",
      form)
    return (list ?? []).enumerated().compactMap { index, members in clientToken(members, "\(key)[\(index)]") }
  }

  private func clientToken(_ members: [ExactText: JSONValue], _ key: String) -> MbaasyDoor.ClientToken? {
    for name in members.keys.sorted() where !["bundleId", "tokenHash"].contains(name.text) {
      reader.note("\(key).\(name.text)", "is no key of this file")
    }
    guard let bundleId = members["bundleId"]?.string else {
      reader.note("\(key).bundleId", "is missing, expected a string")
      return nil
    }
    return hash(members["tokenHash"]?.string ?? "", "\(key).tokenHash", of: "token").map {
      MbaasyDoor.ClientToken(hash: $0, bundleId: bundleId)
    }
  }

  private func recheckLevels() -> MbaasyDoor.RecheckLevels {
    let key = "doors.mbaasy.recheck"
    let levels: [(name: String, level: MbaasyDoor.RecheckLevels)] = [
      ("every28Days", .every28Days), ("every7Days", .every7Days), ("every24Hours", .every24Hours),
    ]
    let names = reader.strings(
      key, [],
      "When a purchase is also looked at again. `every28Days`; `every7Days`: once the period's end is less than 28 days "
        + "away; `every24Hours`: once it is less than 7 days away. After each period's end, and every 24 hours while "
        + "Apple tries to charge, a purchase is always looked at.")
    let known = names.compactMap { name in levels.first { $0.name.exact == name.exact }?.level }
    let recheck = known.reduce(into: MbaasyDoor.RecheckLevels()) { $0.formUnion($1) }
    if known.count < names.count || Set(names.map(\.exact)).count < names.count {
      reader.note(key, "expected a list of \(levels.map(\.name).joined(separator: ", ")), none of them twice")
    }
    return recheck
  }
}
