import Domain
import FoundationEssentials
import Glibc
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

  @Test func `a held file changes at one path, and only when it is taken`() throws {
    let file = folder.path + "/ca.pem"
    func content(_ path: String) -> String? {
      (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }
    try folder.write("one", to: "ca.pem")
    let held = try HeldFile(file)
    let path = held.path
    #expect(content(path) == "one")
    #expect(try !held.take(file))
    let reader = open(path, O_RDONLY)
    defer { close(reader) }
    try folder.write("two, and longer", to: "ca.pem")
    #expect(content(path) == "one")
    #expect(try held.take(file))
    #expect(held.path == path)
    #expect(content(path) == "two, and longer")
    // Who had opened it reads the old content.
    var bytes = [UInt8](repeating: 0, count: 32)
    #expect(Glibc.read(reader, &bytes, 32) == 3)
    try FileManager.default.removeItem(atPath: file)
    #expect(throws: HeldFile.Failure.self) { try held.take(file) }
    #expect(content(path) == "two, and longer")
  }

  @Test func `a role holds the files that it uses itself`() throws {
    for name in ["ledger.pem", "apple.pem"] { try folder.write("pem", to: name) }
    let text =
      #"{"ledger": {"caFile": "ledger.pem"}, "appStore": {"caFile": "apple.pem"}, "notifier": {"caFile": "no"}}"#
    var settings = try folder.settings(text)
    let held = HeldFiles()
    try held.take(&settings, for: .worker)
    let copy = try #require(settings.ledger.caFile)
    #expect(copy.hasPrefix("/proc/self/fd/"))
    #expect(settings.appStore.caFile?.hasPrefix("/proc/self/fd/") == true)
    #expect(settings.notifier.caFile == folder.path + "/no")
    #expect(settings.rabbitmq.tls == nil)
    var again = try folder.settings(text)
    try held.take(&again, for: .worker)
    #expect(again.ledger.caFile == copy)
    var missing = try folder.settings(text)
    #expect(throws: HeldFile.Failure.self) { try HeldFiles().take(&missing, for: .notifier) }
  }
}
