import Domain
import Formats
import FoundationEssentials
import Glibc
import RoleSupport
import Testing

@testable import Configuration

/// What a configuration was read from, and whether it has changed.
struct ConfigurationFilesTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  /// Reads settings with a secret in a file.
  private func read() throws -> (settings: Settings, files: ConfigurationFiles) {
    let loader = folder.loader()
    return (try loader.settings(), loader.files)
  }

  @Test func `the file itself, and each file that it names`() throws {
    try folder.write("one", to: "password")
    try folder.write(#"{"redis": {"passwordFile": "password"}}"#, to: "countersign.json")
    let (settings, files) = try read()
    #expect(settings.redis.password == "one")
    #expect(!files.haveChanged)
    // The same content again is no change.
    try folder.write("one", to: "password")
    #expect(!files.haveChanged)
    try folder.write("two", to: "password")
    #expect(files.haveChanged)
    #expect(try !read().files.haveChanged)
    #expect(try read().settings.redis.password == "two")
    try folder.write(#"{"redis": {"passwordFile": "password"}} "#, to: "countersign.json")
    #expect(files.haveChanged)
  }

  @Test func `a file that is gone has changed, and so has one that was missing`() throws {
    try folder.write("one", to: "password")
    try folder.write(#"{"redis": {"passwordFile": "password"}}"#, to: "countersign.json")
    let files = try read().files
    try FileManager.default.removeItem(atPath: folder.path + "/password")
    #expect(files.haveChanged)
    let loader = folder.loader()
    #expect(throws: ConfigurationError.self) { try loader.settings() }
    #expect(!loader.files.haveChanged)
    try folder.write("one", to: "password")
    #expect(loader.files.haveChanged)
  }

  @Test func `a new publisher's file, and a link that is swapped`() throws {
    func put(_ version: String, _ id: Int) throws {
      let place = "\(folder.path)/publishers/..\(version)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let hash = String(repeating: "ab", count: 32)
      try folder.write(#"{"publisherId": \#(id), "tokenHashes": ["\#(hash)"]}"#, to: "publishers/..\(version)/p.json")
      symlink("..\(version)", "\(folder.path)/publishers/..tmp")
      #expect(rename("\(folder.path)/publishers/..tmp", "\(folder.path)/publishers/..data") == 0)
    }
    try put("one", 1)
    symlink("..data/p.json", "\(folder.path)/publishers/p.json")
    var loader = folder.loader()
    #expect(try loader.publishers(in: folder.path + "/publishers").all.map(\.id) == [1])
    #expect(!loader.files.haveChanged)
    try put("two", 2)
    #expect(loader.files.haveChanged)
    loader = folder.loader()
    #expect(try loader.publishers(in: folder.path + "/publishers").all.map(\.id) == [2])
    #expect(!loader.files.haveChanged)
    try folder.write("{}", to: "publishers/q.json")
    #expect(loader.files.haveChanged)
  }

  @Test func `a folder that cannot be read may be there at the next look`() throws {
    let loader = folder.loader()
    let place = folder.path + "/publishers"
    try FileManager.default.removeItem(atPath: place)
    #expect(throws: ConfigurationError.self) { try loader.publishers(in: place) }
    #expect(!loader.files.haveChanged)
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    #expect(loader.files.haveChanged)
  }

  @Test func `a held file changes at one path, and who reads it reads on`() throws {
    func content(_ path: String) -> String? {
      (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }
    let held = try HeldFile(Array("one".utf8))
    let path = held.path
    #expect(content(path) == "one")
    #expect(try !held.take(Array("one".utf8)))
    let reader = open(path, O_RDONLY)
    defer { close(reader) }
    #expect(try held.take(Array("two, and longer".utf8)))
    #expect(held.path == path)
    #expect(content(path) == "two, and longer")
    var bytes = [UInt8](repeating: 0, count: 32)
    #expect(Glibc.read(reader, &bytes, 32) == 3)
  }

  @Test func `a role holds the files that it uses itself`() throws {
    try folder.write("pem", to: "ledger.pem")
    let text = #"{"ledger": {"caFile": "ledger.pem"}, "notifier": {"caFile": "no"}}"#
    var settings = try folder.settings(text)
    let held = HeldFiles()
    try held.take(HeldFiles.Contents(of: settings, for: .worker), &settings)
    let copy = try #require(settings.ledger.caFile)
    #expect(copy.hasPrefix("/proc/self/fd/"))
    #expect(settings.notifier.caFile == folder.path + "/no")
    #expect(settings.rabbitmq.tls == nil)
    var again = try folder.settings(text)
    try held.take(HeldFiles.Contents(of: again, for: .worker), &again)
    #expect(again.ledger.caFile == copy)
    #expect(throws: HeldFile.Failure.self) { try HeldFiles.Contents(of: again, for: .notifier) }
  }

  @Test func `a login changes, and for another place of the data nothing of it does`() throws {
    func settings(_ account: String, _ host: String, _ places: (String, Int, String)) throws -> Settings {
      let account = "\(account):\(account)"
      return try folder.settings(
        """
        {"rabbitmq": {"url": "amqp://\(account)@\(host)/\(places.0)"},
          "redis": {"url": "redis://\(account)@\(host)/\(places.1)"},
          "ledger": {"url": "postgresql://\(account)@\(host)/\(places.2)"}}
        """)
    }
    var present = try settings("old", "one", ("x", 1, "data"))
    func take(_ other: Settings) {
      present.rabbitmq.take(loginOf: other.rabbitmq)
      present.redis.take(loginOf: other.redis)
      present.ledger.take(loginOf: other.ledger)
    }
    take(try settings("new", "two", ("y", 2, "more")))
    #expect(present.rabbitmq.user == "old" && present.rabbitmq.password == "old" && present.rabbitmq.virtualHost == "x")
    #expect(present.redis.user == "old" && present.redis.password == "old" && present.redis.address.host == "one")
    #expect(present.ledger.url == "postgresql://old:old@one/data")
    take(try settings("new", "two", ("x", 1, "data")))
    #expect(present.rabbitmq.user == "new" && present.rabbitmq.password == "new")
    #expect(present.redis.user == "new" && present.redis.address.host == "two")
    #expect(present.ledger.url == "postgresql://new:new@two/data")
  }

  @Test func `an empty password file is a mistake`() throws {
    try folder.write("\n", to: "password")
    let mistakes = try folder.mistakes(#"{"redis": {"passwordFile": "password"}}"#)
    #expect(mistakes.contains { $0.contains("redis.passwordFile") && $0.contains("is empty") })
  }
}
