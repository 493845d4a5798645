import Configuration
import Crypto
import Domain
import Doors
import EventLoop
import Glibc
import Ledger
import Observability
import Postgres
import RoleSupport
import Service
import Synchronization
import TestSupport
import Testing

@testable import Countersign

/// One look of a role at the files of its configuration, with real files and no server.
@LoopActor
struct ConfigurationWatchTests {
  /// What happens in a reading, on another thread.
  private final class Reading: Sendable {
    let begun = Atomic(0)
    let mayEnd = Atomic(true)
    /// Whether each reading meets a file that somebody writes.
    let isDisturbed = Atomic(false)
  }

  /// What the ledger says of its secrets.
  @LoopActor
  private final class Ledger {
    var uses: [SecretKeysInUse.Use]?

    func read() throws -> SecretKeysInUse {
      guard let uses else {
        throw PostgresError(.unreachable, operation: "count by key", target: "ledger", cause: "away")
      }
      return SecretKeysInUse(uses)
    }
  }

  private let folder: ConfigurationFolder
  private let context: RoleContext
  private let watch: ConfigurationWatch
  private let ledger = Ledger()
  private let reading = Reading()

  init() throws { try self.init(role: "gateway") }

  private init(role: String) throws {
    let folder = try ConfigurationFolder()
    self.folder = folder
    try Self.write([7], in: folder)
    try folder.write(Self.keys(["one", "two"]), to: "keys.json")
    // Nothing looks by itself within a test.
    try folder.write(
      """
      {"log": {"level": "error"}, "reloadSeconds": 86400,
       "ledger": {"url": "postgresql://countersign@ledger.example/countersign", "keysFile": "keys.json"}}
      """, to: "countersign.json")
    let (path, arguments) = (folder.path, ["--config", folder.path + "/countersign.json"])
    let present = try LoadedConfiguration(arguments, command: role)
    context = RoleContext(
      role: role, settings: present.settings, publishers: present.publishers, doors: DoorRegistry.catalog)
    let user = try #require(SettingsUser(rawValue: role))
    if user.needsKeys { context.secretKeys = try present.settings.ledger.readKeys() }
    watch = ConfigurationWatch(
      context, user, present, HeldFiles(), readKeysInUse: { [ledger] _ in try ledger.read() },
      read: { [reading] in try Self.read(after: $0, arguments, role, in: path, reading) })
  }

  /// Reads everything anew, as a role does, on another thread.
  private nonisolated static func read(
    after old: LoadedConfiguration, _ arguments: [String], _ role: String, in folder: String, _ reading: Reading
  ) throws -> LoadedConfiguration {
    let number = reading.begun.add(1, ordering: .sequentiallyConsistent).newValue
    let new = Result { try LoadedConfiguration(arguments, command: role, after: old) }
    // Only a broken test reaches the limit.
    let end = ContinuousClock.now + .patience
    while !reading.mayEnd.load(ordering: .sequentiallyConsistent), .now < end { sched_yield() }
    if reading.isDisturbed.load(ordering: .sequentiallyConsistent) {
      try ConfigurationFolder.write(Array("\(number)".utf8), to: folder + "/keys.json")
    }
    return try new.get()
  }

  private static func publisher(_ id: Int, customers: String = "open") -> String {
    let hash = Hex.encode(SHA256.hash([UInt8(id)]))
    return #"{"publisherId": \#(id), "tokenHashes": ["\#(hash)"], "customers": "\#(customers)"}"#
  }

  private static func write(_ ids: [Int], in folder: ConfigurationFolder) throws {
    for id in ids { try folder.write(publisher(id), to: "publishers/\(id).json") }
  }

  private static func keys(_ ids: [String]) -> String {
    let keys = ids.map { #"{"id": "\#($0)", "key": "\#(Base64.encode(SHA256.hash(Array($0.utf8))))"}"# }
    return #"{"keys": [\#(keys.joined(separator: ", "))]}"#
  }

  private var publishers: [Int64] { context.publishers.all.map(\.id.number).sorted() }
  private var readings: Int { reading.begun.load(ordering: .sequentiallyConsistent) }

  /// Expects what the metrics say: how many configurations were used and refused, and whether the present one is.
  private func expect(
    used: Int = 0, refused: Int = 0, isCurrent: Bool = true, at location: SourceLocation = #_sourceLocation
  ) {
    let lines = context.metrics.text().split(separator: "\n")
    let wanted = [
      "countersign_configuration_reloads_total{outcome=\"used\"} \(used)",
      "countersign_configuration_reloads_total{outcome=\"refused\"} \(refused)",
      "countersign_configuration_current \(isCurrent ? 1 : 0)",
    ]
    #expect(wanted.filter { !lines.contains($0[...]) } == [], sourceLocation: location)
  }

  @Test func `files that have not changed are not read again`() async throws {
    await watch.look()
    #expect(readings == 0)
    expect()
    try Self.write([8], in: folder)
    await watch.look()
    await watch.look()
    #expect(readings == 1 && publishers == [7, 8])
    expect(used: 1)
  }

  @Test func `the start looks, because a file may have changed before`() async throws {
    try Self.write([8], in: folder)
    watch.start()
    try await eventually("the new publisher is known") { publishers == [7, 8] }
    await watch.stop(within: .zero)
    try Self.write([9], in: folder)
    watch.lookAgain()
    // A look would compare the files on another thread, and then read them there.
    for _ in 0..<3 { try await EventLoop.offload {} }
    #expect(readings == 1 && publishers == [7, 8])
  }

  @Test func `a mistake is told once and changes nothing, until somebody asks or mends it`() async throws {
    let good = try #require(folder.read("countersign.json"))
    try folder.write(#"{"reloadSeconds": "soon"}"#, to: "countersign.json")
    try Self.write([8], in: folder)
    await watch.look()
    await watch.look()
    #expect(readings == 1 && publishers == [7])
    expect(refused: 1, isCurrent: false)
    watch.start()
    watch.lookAgain()
    try await eventually("the same files are refused again") {
      context.metrics.text().contains("countersign_configuration_reloads_total{outcome=\"refused\"} 2\n")
    }
    await watch.stop(within: .patience)
    try folder.write(good, to: "countersign.json")
    await watch.look()
    #expect(publishers == [7, 8])
    expect(used: 1, refused: 2)
  }

  @Test func `the old files, put back, need no reading`() async throws {
    let good = try #require(folder.read("countersign.json"))
    try folder.write("{", to: "countersign.json")
    await watch.look()
    expect(refused: 1, isCurrent: false)
    try folder.write(good, to: "countersign.json")
    await watch.look()
    #expect(readings == 1)
    expect(refused: 1)
  }

  @Test func `a publisher's mistake keeps that publisher only`() async throws {
    try folder.write(Self.publisher(7, customers: "closed"), to: "publishers/7.json")
    try Self.write([8], in: folder)
    await watch.look()
    #expect(publishers == [7, 8] && context.publishers.broken.count == 1)
    expect(used: 1)
  }

  @Test func `a file that changes under the reading is read again, three times a look`() async throws {
    reading.isDisturbed.store(true, ordering: .sequentiallyConsistent)
    try Self.write([8], in: folder)
    await watch.look()
    #expect(readings == 3 && publishers == [7])
    expect()
    reading.isDisturbed.store(false, ordering: .sequentiallyConsistent)
    try folder.write(Self.keys(["one", "two", "three"]), to: "keys.json")
    await watch.look()
    #expect(readings == 4 && publishers == [7, 8] && context.secretKeys.first == "one")
    expect(used: 1)
  }

  @Test func `without the ledger no key is dropped; that is told once, and tried again`() async throws {
    try folder.write(Self.keys(["one"]), to: "keys.json")
    await watch.look()
    await watch.look()
    #expect(readings == 2)
    expect(refused: 1, isCurrent: false)
    ledger.uses = [.init(keyId: "one", endpoints: 1)]
    await watch.look()
    #expect(context.secretKeys.dropped(by: SealingKeys()) == ["one"])
    expect(used: 1, refused: 1)
  }

  @Test func `a key that secrets need is not dropped`() async throws {
    ledger.uses = [.init(keyId: "two", endpoints: 1)]
    try folder.write(Self.keys(["one"]), to: "keys.json")
    await watch.look()
    #expect(context.secretKeys.dropped(by: SealingKeys()) == ["one", "two"])
    expect(refused: 1, isCurrent: false)
    // The order may change: the first one seals.
    try folder.write(Self.keys(["two", "one"]), to: "keys.json")
    await watch.look()
    #expect(context.secretKeys.first == "two")
    expect(used: 1, refused: 1)
  }

  @Test(arguments: [("gateway", true), ("worker", true), ("worker", false)])
  func `what a stopping role still reads does not count`(_ role: String, isGood: Bool) async throws {
    let test = try Self(role: role)
    try Self.write([8], in: test.folder)
    if !isGood { try test.folder.write("{", to: "countersign.json") }
    test.reading.mayEnd.store(false, ordering: .sequentiallyConsistent)
    let look = Task { @LoopActor in await test.watch.look() }
    try await eventually("it reads") { test.readings == 1 }
    look.cancel()
    test.reading.mayEnd.store(true, ordering: .sequentiallyConsistent)
    await look.value
    #expect(test.publishers == [7])
    test.expect()
  }
}
