import FoundationEssentials
import TestSupport
import Testing

@testable import Configuration
@testable import Doors

/// The reference of all keys.
struct ConfigurationReferenceTests {
  /// The page has the tables that the code makes.
  @Test func documentationIsUpToDate() throws {
    let file = Repository.root + "/docs/reference/configuration.md"
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let tables = try #require(text.firstRange(of: "## The configuration file\n")).lowerBound
    #expect(
      text[tables...] == ConfigurationReference.markdown(DoorRegistry.all),
      "paste the output of `countersign check-config --describe` behind the head of docs/reference/configuration.md")
  }

  /// The page also describes keys that only some configurations need.
  @Test func keysOfSomeCases() {
    let (settings, publisher) = ConfigurationLoader.reference(DoorRegistry.all)
    let keys = settings.map(\.key)
    for key in [
      "rabbitmq.passwordFile", "redis.passwordFile", "ledger.passwordFile", "appStore.caFile", "notifier.caFile",
      "simulator.apps",
    ] {
      #expect(keys.contains(key))
    }
    #expect(
      publisher[""]?.map(\.key) == [
        "publisherId", "customers", "tokenHashes", "customerTokens.algorithm", "customerTokens.customerClaim",
        "customerTokens.secretFile", "customerTokens.publicKeyFile", "customerTokens.audience",
        "customerTokens.issuer", "customerTokens.maxLifetimeSeconds", "customerTokens.clockLeewaySeconds",
        "customerTokens.jwks.file", "customerTokens.jwks.url", "customerTokens.jwks.caFile", "sandboxAccess",
        "ownership.proof",
        "ownership.tokenNamespace", "ownership.restore", "migrating", "mode", "doors.cleeng.enabled",
        "doors.cleeng.customerPrefix", "doors.cleeng.ownership.proof", "doors.cleeng.ownership.tokenNamespace",
        "doors.cleeng.ownership.restore", "doors.cleeng.maxRequestsPerSecond", "doors.cleeng.customers",
        "doors.iaptic.enabled",
        "doors.iaptic.customerPrefix",
        "doors.iaptic.ownership.proof", "doors.iaptic.ownership.tokenNamespace", "doors.iaptic.ownership.restore",
        "doors.iaptic.maxRequestsPerSecond", "doors.iaptic.customers",
        "doors.iaptic.appName", "doors.iaptic.apiKeyHashes", "doors.iaptic.secretKeyHashes", "doors.playfab.enabled",
        "doors.playfab.ownership.proof", "doors.playfab.ownership.tokenNamespace",
        "doors.playfab.ownership.restore", "doors.playfab.customers", "doors.playfab.maxRequestsPerSecond",
        "doors.mbaasy.enabled",
        "doors.mbaasy.customerPrefix",
        "doors.mbaasy.ownership.proof", "doors.mbaasy.ownership.tokenNamespace", "doors.mbaasy.ownership.restore",
        "doors.mbaasy.maxRequestsPerSecond", "doors.mbaasy.customers",
        "doors.mbaasy.clientTokens", "doors.mbaasy.recheck", "grantWhileAppleIsAway.enabled",
        "grantWhileAppleIsAway.maxEvidenceAgeSeconds", "grantWhileAppleIsAway.limitSeconds",
        "notifications.sharedSecretHashes", "notifications.forwardTo",
      ])
    #expect(
      publisher["apps"]?.map(\.key).sorted()
        == ["appAppleId", "bundleId", "environments", "issuerId", "keyId", "privateKeyFile", "released"])
    #expect(
      publisher["offers"]?.map(\.key).sorted() == [
        "accessDays", "catalogVersion", "consumption.answer", "consumption.refundPreference",
        "consumption.sampleContentProvided", "coupons", "displayName", "familyShared", "itemClass", "offerId",
        "price.amount",
        "price.currency", "productIds", "refunds", "tags",
      ])
    #expect(publisher["tokens"]?.map(\.key) == ["name", "tokenHash", "tokenFile", "scopes"])
    #expect(
      publisher["customerTokens.keys"]?.map(\.key) == ["kid", "algorithm", "secretFile", "publicKeyFile"])
    #expect(publisher["webhooks"]?.map(\.key).sorted() == ["environment", "id", "secretFile", "topics", "url"])
  }

  /// A key as `check-config --describe --json` describes it.
  private struct Line: Decodable {
    let file, key, type, meaning: String
    let isRequired: Bool
    let list, environmentVariable: String?
    let `default`: String?
  }

  /// The objects and the tables tell the same keys, with the same texts.
  @Test func linesHaveEveryKeyOfTheTables() throws {
    let (settings, publisher) = ConfigurationLoader.reference(DoorRegistry.all)
    let lines = try ConfigurationReference.lines(DoorRegistry.all).map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    #expect(Set(publisher.keys) == Set(ConfigurationReference.parts.map(\.key)))
    let described =
      settings.map { ("configuration", "", $0) }
      + ConfigurationReference.parts.flatMap { part in (publisher[part.key] ?? []).map { ("publisher", part.key, $0) } }
    #expect(lines.count == described.count)
    for (line, (file, list, key)) in zip(lines, described) {
      #expect(line.file == file && line.list ?? "" == list && line.key == key.key)
      #expect(line.meaning == key.meaning && line.environmentVariable == key.variable && line.type == key.expected)
      let shown = line.isRequired ? "required" : line.default ?? "none"
      #expect([shown, "`\(shown)`"].contains(key.fallback), "\(key.key)")
    }
  }

  @Test func everyKeyHasItsOwnVariable() {
    let (settings, publisher) = ConfigurationLoader.reference(DoorRegistry.all)
    let variables = settings.compactMap(\.variable)
    #expect(variables.count == settings.count)
    #expect(Set(variables).count == variables.count)
    #expect(variables.allSatisfy { $0.hasPrefix("COUNTERSIGN_") })
    #expect(publisher.values.joined().allSatisfy { $0.variable == nil })
  }

  @Test(arguments: [
    ("rabbitmq.url", "COUNTERSIGN_RABBITMQ_URL"), ("appStore.productionURL", "COUNTERSIGN_APP_STORE_PRODUCTION_URL"),
    ("appStore.caFile", "COUNTERSIGN_APP_STORE_CA_FILE"),
    ("shutdownGraceSeconds", "COUNTERSIGN_SHUTDOWN_GRACE_SECONDS"),
    ("simulator.tlsNames", "COUNTERSIGN_SIMULATOR_TLS_NAMES"),
  ])
  func variable(key: String, name: String) {
    #expect(SettingsReader.variable(key) == name)
  }

  /// A bar ends a table's cell.
  @Test func noCellIsBroken() {
    for line in ConfigurationReference.markdown(DoorRegistry.all).split(separator: "\n") where line.hasPrefix("|") {
      #expect([4, 5].contains(line.count { $0 == "|" }), "\(line)")
    }
  }
}
