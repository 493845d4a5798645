import Configuration
import Domain
import Formats
import JSON

/// What a publisher's file says about the door.
extension Mbaasy {
  func read(_ reader: DoorReader) -> (any OpenDoor)? {
    let isOpen = reader.isOpen("Mbaasy's client API, `/client/itunes_connect/receipts`")
    var policy = reader.policy()
    policy.customers = reader.openCustomers()
    let tokens = clientTokens(reader)
    reader.noteRepetition(in: tokens.map(\.hash), Self.clientTokens)
    let recheck = recheckLevels(reader)
    guard isOpen else { return nil }
    if tokens.isEmpty {
      reader.note(Self.clientTokens, "is empty, expected a token of an app, since the door is open")
    }
    return MbaasyDoor(policy: policy, clientTokens: tokens, recheck: recheck)
  }

  func mistakes(in publisher: Publisher) -> [(key: String, problem: String)] {
    let bundleIds = Set(publisher.apps.map(\.bundleId))
    return (publisher.doors.mbaasy?.clientTokens ?? []).filter { !bundleIds.contains($0.bundleId) }
      .map { (Self.clientTokens, "no app has the bundleId \"\($0.bundleId)\"") }
  }

  private static let clientTokens = "clientTokens"

  private func clientTokens(_ reader: DoorReader) -> [MbaasyDoor.ClientToken] {
    let list = reader.objects(
      Self.clientTokens, each: "bundleId and tokenHash",
      "The tokens of apps, each as `{\"bundleId\": …, \"tokenHash\": …}` with the SHA-256 of the token in "
        + "hexadecimal.")
    return list.enumerated().compactMap { index, members in
      clientToken(members, "\(Self.clientTokens)[\(index)]", reader)
    }
  }

  private func clientToken(
    _ members: [ExactText: JSONValue], _ key: String, _ reader: DoorReader
  ) -> MbaasyDoor.ClientToken? {
    reader.noteUnknownMembers(of: members, at: key, except: ["bundleId", "tokenHash"])
    guard case .string(let bundleId)? = members["bundleId"], !bundleId.isEmpty else {
      reader.note("\(key).bundleId", "is missing, expected a string")
      return nil
    }
    let text = if case .string(let text)? = members["tokenHash"] { text } else { "" }
    return reader.hash(text, "\(key).tokenHash", of: "token").map {
      MbaasyDoor.ClientToken(hash: $0, bundleId: BundleId(bundleId))
    }
  }

  private func recheckLevels(_ reader: DoorReader) -> MbaasyDoor.RecheckLevels {
    let key = "recheck"
    let levels: [(name: String, level: MbaasyDoor.RecheckLevels)] = [
      ("every28Days", .every28Days), ("every7Days", .every7Days), ("every24Hours", .every24Hours),
    ]
    let names = reader.strings(
      key,
      "When workers also look at a purchase again. `every28Days`; `every7Days`: once the period's end is less than 28 "
        + "days away; `every24Hours`: once it is less than 7 days away. After each period's end, and every 24 hours "
        + "while Apple tries to charge, they always do.")
    let known = names.compactMap { name in levels.first { $0.name.isExactly(name) }?.level }
    let recheck = known.reduce(into: MbaasyDoor.RecheckLevels()) { $0.formUnion($1) }
    if known.count < names.count || names.hasRepetition {
      reader.note(key, "expected a list of \(levels.map(\.name).joined(separator: ", ")), none of them twice")
    }
    return recheck
  }
}
