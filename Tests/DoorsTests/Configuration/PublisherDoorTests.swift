import Configuration
import Crypto
import Domain
import RoleSupport
import Testing

@testable import Doors

/// The doors in the publishers' files.
struct PublisherDoorTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder(doors: DoorRegistry.all)
    try folder.write(try P256PrivateKey.generate().pem, to: "publishers/key.p8")
    try folder.write("0123456789abcdef0123456789abcdef\n", to: "publishers/hs256.secret")
  }

  private static func hash(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }
  private static let app =
    #"{"bundleId": "com.a", "appAppleId": 5, "issuerId": "i", "keyId": "k", "privateKeyFile": "key.p8"}"#
  private static let iaptic = #""enabled": true, "appName": "App", "apiKeyHashes": ["\#(Hex.encode(hash(1)))"]"#
  private static let mbaasy =
    #""enabled": true, "clientTokens": [{"bundleId": "com.a", "tokenHash": "\#(Hex.encode(hash(3)))"}]"#

  private func publisher(_ members: String) throws -> Publisher {
    try folder.write(#"{"publisherId": 7, "apps": [\#(Self.app)], \#(members)}"#, to: "publishers/a.json")
    return try #require(try folder.publishers()[7])
  }

  private func mistakes(_ members: String) throws -> [String] {
    try folder.write(#"{"publisherId": 7, "apps": [\#(Self.app)], \#(members)}"#, to: "publishers/a.json")
    return folder.publisherMistakes().map { $0.replacing("publishers/a.json: ", with: "") }
  }

  private func doors(_ members: String) throws -> OpenDoors { try publisher(#""doors": {\#(members)}"#).doors }

  // MARK: Good

  @Test func allAreClosed() throws {
    for members in [#""customers": "open""#, #""doors": {}"#, #""doors": {"iaptic": {"appName": "App"}}"#] {
      let publisher = try publisher(members)
      #expect(DoorRegistry.all.map(\.id).allSatisfy { publisher.doors.policy(of: $0) == nil })
      #expect(publisher.grantWhileAppleIsAway == nil)
    }
  }

  @Test func least() throws {
    let tokens = #""customerTokens": {"algorithm": "HS256", "secretFile": "hs256.secret"}"#
    let doors = try publisher(
      #"\#(tokens), "doors": {"cleeng": {"enabled": true}, "iaptic": {\#(Self.iaptic)}, "#
        + #""playfab": {"enabled": true}, "mbaasy": {\#(Self.mbaasy)}}"#
    ).doors
    #expect(doors.policy(of: .cleeng) == DoorPolicy(ownership: OwnershipPolicy(restore: .transfer)))
    #expect(doors.cleeng == CleengDoor())
    #expect(doors.policy(of: .playfab) == DoorPolicy())
    // These vendors ask for no registration.
    for door in [Door.iaptic, .mbaasy] { #expect(doors.policy(of: door) == DoorPolicy(customers: .open)) }
    #expect(doors.iaptic == IapticDoor(appName: "App", apiKeyHashes: [Self.hash(1)]))
    #expect(doors.mbaasy == MbaasyDoor(clientTokens: [.init(hash: Self.hash(3), bundleId: "com.a")]))
  }

  @Test func everything() throws {
    let policy =
      #""customerPrefix": "p-", "ownership": {"proof": "signedTransaction", "restore": "transfer"}"#
    var expected = DoorPolicy(
      customerPrefix: "p-", customers: .open,
      ownership: OwnershipPolicy(proof: .signedTransaction, restore: .transfer))
    let iaptic = try #require(
      try doors(#""iaptic": {\#(Self.iaptic), "secretKeyHashes": ["\#(Hex.encode(Self.hash(2)))"], \#(policy)}"#).iaptic
    )
    #expect(
      iaptic
        == IapticDoor(
          policy: expected, appName: "App", apiKeyHashes: [Self.hash(1)], secretKeyHashes: [Self.hash(2)]))
    let levels = #""recheck": ["every28Days", "every24Hours", "every7Days"]"#
    let mbaasy = try #require(try doors(#""mbaasy": {\#(Self.mbaasy), \#(levels), \#(policy)}"#).mbaasy)
    #expect(mbaasy.recheck == [.every28Days, .every7Days, .every24Hours])
    #expect(mbaasy.policy == expected)
    expected.customers = nil
    #expect(try doors(#""cleeng": {"enabled": true, \#(policy)}"#).cleeng == CleengDoor(policy: expected))
  }

  /// iaptic's and Mbaasy's doors take every user, and the others do as the publisher does. Each can say otherwise.
  @Test func customersOfEachDoor() throws {
    let tokens = #""customerTokens": {"algorithm": "HS256", "secretFile": "hs256.secret"}"#
    func policies(_ own: String, _ members: String) throws -> [Publisher.CustomerPolicy] {
      let publisher = try publisher(
        #""customers": "\#(own)", \#(tokens), "doors": {"cleeng": {"enabled": true\#(members)}, "#
          + #""iaptic": {\#(Self.iaptic)\#(members)}, "playfab": {"enabled": true\#(members)}, "#
          + #""mbaasy": {\#(Self.mbaasy)\#(members)}}"#)
      return [nil, Door.cleeng, .iaptic, .playfab, .mbaasy].map { publisher.customers(through: $0) }
    }
    #expect(try policies("registered", "") == [.registered, .registered, .open, .registered, .open])
    #expect(try policies("open", "") == [.open, .open, .open, .open, .open])
    let (open, registered) = (#", "customers": "open""#, #", "customers": "registered""#)
    #expect(try policies("registered", open) == [.registered, .open, .open, .open, .open])
    #expect(try policies("open", registered) == [.open, .registered, .registered, .registered, .registered])
    #expect(
      try mistakes(#""doors": {"mbaasy": {\#(Self.mbaasy), "customers": "all"}}"#) == [
        "doors.mbaasy.customers: is \"all\", expected one of registered, open"
      ])
  }

  /// A door must not ask for less than the publisher does, unless the publisher says so.
  @Test func proofOfThePublisher() throws {
    let namespace = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    let bytes = try #require(Hex.decode(namespace.replacing("-", with: "")))
    let own = #""ownership": {"proof": "appAccountToken", "tokenNamespace": "\#(namespace)", "restore": "transfer"}"#
    func ownership(_ members: String) throws -> OwnershipPolicy? {
      try publisher(#"\#(own), "doors": {"iaptic": {\#(Self.iaptic), \#(members)}}"#).doors.iaptic?.policy.ownership
    }
    let derived = OwnershipPolicy.Proof.appAccountToken(derivation: .uuidV5(namespace: bytes))
    #expect(try ownership(#""customerPrefix": """#) == OwnershipPolicy(proof: derived, restore: .refuse))
    #expect(try ownership(#""ownership": {"proof": "none"}"#) == OwnershipPolicy())
    let other = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
    let otherBytes = try #require(Hex.decode(other.replacing("-", with: "")))
    #expect(
      try ownership(#""ownership": {"tokenNamespace": "\#(other)", "restore": "transfer"}"#)
        == OwnershipPolicy(
          proof: .appAccountToken(derivation: .uuidV5(namespace: otherBytes)), restore: .transfer))
  }

  @Test func accessWhileAppleIsAway() throws {
    func grant(_ members: String) throws -> GrantWhileAppleIsAway? {
      try publisher(#""grantWhileAppleIsAway": {\#(members)}"#).grantWhileAppleIsAway
    }
    #expect(try grant(#""enabled": false, "limitSeconds": 60"#) == nil)
    #expect(try grant(#""enabled": true"#) == GrantWhileAppleIsAway())
    #expect(GrantWhileAppleIsAway().maxEvidenceAge == .seconds(3600))
    #expect(GrantWhileAppleIsAway(limit: .seconds(90_000)).limit == .seconds(86_400))
    #expect(
      try grant(#""enabled": true, "maxEvidenceAgeSeconds": 60, "limitSeconds": 120"#)
        == GrantWhileAppleIsAway(maxEvidenceAge: .seconds(60), limit: .seconds(120)))
    let mistakes = try mistakes(#""grantWhileAppleIsAway": {"limitSeconds": 86401}"#)
    #expect(mistakes == ["grantWhileAppleIsAway.limitSeconds: is 86401, expected seconds from 1 to 86400"])
  }

  // MARK: Mistakes

  @Test func openDoorsWithoutTheirKeys() throws {
    let doors = #""iaptic": {"enabled": true}, "playfab": {"enabled": true}, "mbaasy": {"enabled": true}"#
    #expect(
      try mistakes(#""doors": {\#(doors)}"#) == [
        "doors.iaptic.appName: is missing, expected a string, since the door is open",
        "doors.iaptic.apiKeyHashes: is empty, expected the hash of a key, since the door is open",
        "doors.playfab.enabled: needs customerTokens, since a session ticket is a customer's token",
        "doors.mbaasy.clientTokens: is empty, expected a token of an app, since the door is open",
      ])
  }

  @Test(arguments: [
    (#""iaptic": {"apiKeyHashes": ["secret"]}"#, "doors.iaptic.apiKeyHashes[0]: expected 64 hexadecimal digits"),
    (#""iaptic": {"secretKeyHashes": ["secret"]}"#, "doors.iaptic.secretKeyHashes[0]: expected 64 hexadecimal digits"),
    (#""iaptic": {"apiKeyHashes": ["HASH", "HASH"]}"#, "doors.iaptic.apiKeyHashes: expected no hash twice"),
    (
      #""iaptic": {"apiKeyHashes": ["HASH"], "secretKeyHashes": ["HASH"]}"#,
      "doors.iaptic.secretKeyHashes: has a hash of apiKeyHashes"
    ),
    (#""mbaasy": {"clientTokens": ["secret"]}"#, "doors.mbaasy.clientTokens: is an array, expected a list of objects"),
    (
      #""mbaasy": {"clientTokens": [{"bundleId": "com.a", "tokenHash": "secret"}]}"#,
      "doors.mbaasy.clientTokens[0].tokenHash: expected 64 hexadecimal digits"
    ),
    (
      #""mbaasy": {"clientTokens": [{"tokenHash": "HASH"}]}"#,
      "doors.mbaasy.clientTokens[0].bundleId: is missing, expected a string"
    ),
    (
      #""mbaasy": {"clientTokens": [{"bundleId": "com.a", "tokenHash": "HASH", "token": "secret"}]}"#,
      "doors.mbaasy.clientTokens[0].token: is no key of this file"
    ),
    (
      #""mbaasy": {"clientTokens": [{"bundleId": "com.a", "tokenHash": "HASH", "bundleIdd": "x"}]}"#,
      "doors.mbaasy.clientTokens[0].bundleIdd: is no key of this file; did you mean bundleId?"
    ),
    (
      #""mbaasy": {"enabled": true, "clientTokens": [{"bundleId": "com.b", "tokenHash": "HASH"}]}"#,
      "doors.mbaasy.clientTokens: no app has the bundleId \"com.b\""
    ),
    (#""mbaasy": {"recheck": ["daily"]}"#, "doors.mbaasy.recheck: expected a list of every28Days, every7Days,"),
    (#""mbaasy": {"recheck": ["every7Days", "every7Days"]}"#, "doors.mbaasy.recheck: expected a list of every28Days"),
    (#""cleeng": {"ownership": {"restore": "yes"}}"#, "doors.cleeng.ownership.restore: is \"yes\""),
    (#""cleeng": {"ownership": {"proof": "token"}}"#, "doors.cleeng.ownership.proof: is \"token\""),
    (#""playfab": {"ownership": {"tokenNamespace": "x"}}"#, "doors.playfab.ownership.tokenNamespace: expected a UUID"),
    (
      #""iaptic": {"ownership": {"restore": "transferIfInactive"}}"#,
      "doors.iaptic.ownership.restore: is transferIfInactive, which would move nothing at a door"
    ),
    (#""cleeng": {"customerPrefix": "erased:"}"#, "doors.cleeng.customerPrefix: expected at most 64 bytes"),
    (#""playfab": {"customerPrefix": "p-"}"#, "doors.playfab.customerPrefix: is no key of this file"),
    (#""playfab": {"appName": "x"}"#, "doors.playfab.appName: is no key of this file"),
    (#""google": {"enabled": true}"#, "doors.google.enabled: is no key of this file"),
  ])
  func mistake(doors: String, expected: String) throws {
    let doors = doors.replacing("HASH", with: Hex.encode(Self.hash(9)))
    let mistakes = try mistakes(#""doors": {\#(doors)}"#)
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix(expected) == true, "\(mistakes)")
    #expect(mistakes.first?.contains("secret") != true || expected.contains("secret"))
  }

  @Test func whatTwoPublishersHaveInCommon() throws {
    for (id, file) in [(7, "a"), (8, "b")] {
      try folder.write(
        #"{"publisherId": \#(id), "apps": [\#(Self.app)], "doors": {"iaptic": {\#(Self.iaptic)}, "#
          + #""mbaasy": {\#(Self.mbaasy)}}}"#, to: "publishers/\(file).json")
    }
    #expect(
      folder.publisherMistakes() == [
        "publishers: doors.iaptic.appName: publishers 7 and 8 have one in common",
        "publishers: doors.mbaasy.clientTokens: publishers 7 and 8 have one in common",
      ])
  }
}
