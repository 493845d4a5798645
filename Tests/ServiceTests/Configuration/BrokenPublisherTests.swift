import Configuration
import Domain
import RoleSupport
import Testing

/// One publisher's file with a mistake leaves all others in use.
struct BrokenPublisherTests: PublisherSuite {
  let folder: ConfigurationFolder

  init() throws { folder = try Self.makeFolder() }

  private static func hash(_ id: Int) -> String { String(repeating: "0", count: 62) + String(id + 10) }

  /// Writes a good file.
  private func write(_ id: Int, to name: String? = nil, token: Int? = nil, _ members: String = "") throws {
    let text = #"{"publisherId": \#(id), "tokenHashes": ["\#(Self.hash(token ?? id))"]\#(members)}"#
    try folder.write(text, to: "publishers/\(name ?? "\(id).json")")
  }

  private static let now: Int64 = 1_000_000

  private func reading(after old: Publishers = Publishers([])) throws -> PublisherReading {
    try folder.loader().publisherFolder(folder.path + "/publishers").reading(after: old, now: Self.now)
  }

  /// The files that do not count, each with its id and what became of the publisher.
  private func broken(_ publishers: Publishers) -> [String] {
    publishers.broken.map { "\($0.file) \($0.id.map(String.init) ?? "?") \($0.isKept ? "kept" : "absent")" }
  }

  private func customers(_ id: PublisherId, _ publishers: Publishers) -> Publisher.CustomerPolicy? {
    publishers[id]?.customers
  }

  @Test func `at a start the publisher is absent, and all mistakes are told`() throws {
    try write(4)
    try write(5, #", "customers": "closed", "apps": [{"bundleId": "com.a"}]"#)
    let found = try reading()
    #expect(found.publishers.all.map(\.id) == [4])
    #expect(broken(found.publishers) == ["5.json 5 absent"])
    #expect(found.mistakes.count == 5)
    #expect(found.publishers.broken[0].mistakes.count == 5)
    #expect(found.publishers.broken[0].bundleIds == ["com.a"])
    #expect(!found.publishers.broken[0].hidesCallers)
    #expect(found.publishers.broken[0].since == Self.now)
    #expect(throws: ConfigurationError.self) { try folder.publishers() }
  }

  @Test func `after a reload the publisher stays as it was, and other files count`() throws {
    try write(4)
    try write(5, #", "customers": "open""#)
    let first = try reading().publishers
    try write(4, #", "customers": "open""#)
    try write(5, #", "customers": "closed""#)
    try write(6)
    let second = try reading(after: first).publishers
    #expect(second.all.map(\.id) == [4, 5, 6])
    #expect(customers(4, second) == .open && customers(5, second) == .open)
    #expect(broken(second) == ["5.json 5 kept"])
    #expect(second.file(of: 5) == "5.json")
    try write(5, #", "customers": "registered""#)
    let third = try reading(after: second).publishers
    #expect(third.broken.isEmpty && customers(5, third) == .registered)
  }

  @Test func `a key file that is not there breaks its publisher only, and both ways of mending work`() throws {
    let app = #", "apps": [{"bundleId": "com.a", "appAppleId": 5, "issuerId": "i", "keyId": "k", "#
    try write(4)
    try write(5, app + #""privateKeyFile": "late.p8"}]"#)
    let folderBefore = try folder.loader().publisherFolder(folder.path + "/publishers")
    let first = folderBefore.reading(now: Self.now).publishers
    #expect(broken(first) == ["5.json 5 absent"])
    let key = try #require(folder.read("publishers/key.p8"))
    try folder.write(key, to: "publishers/late.p8")
    let second = try folder.loader().publisherFolder(folder.path + "/publishers", after: folderBefore)
    #expect(second.reading(after: first, now: Self.now).publishers[5]?.apps.count == 1)
  }

  @Test(arguments: ["{", "[]", #"{"publisherId": "x"}"#])
  func `a file that does not tell its id has that of the file in use, or of its name`(text: String) throws {
    try write(4)
    try write(5, to: "shop.json")
    let first = try reading().publishers
    try folder.write(text, to: "publishers/shop.json")
    try folder.write(text, to: "publishers/6.json")
    try folder.write(text, to: "publishers/x.json")
    let second = try reading(after: first).publishers
    #expect(broken(second) == ["6.json 6 absent", "shop.json 5 kept", "x.json ? absent"])
    #expect(second.all.map(\.id) == [4, 5])
  }

  @Test func `the name is ignored if another file has the publisher`() throws {
    try write(5, to: "shop.json")
    try folder.write("{", to: "publishers/5.json")
    #expect(broken(try reading().publishers) == ["5.json ? absent"])
  }

  @Test func `an unchanged mistake is as old as it was`() throws {
    try write(4)
    try folder.write("{", to: "publishers/5.json")
    let read = try folder.loader().publisherFolder(folder.path + "/publishers")
    let first = read.reading(now: 7).publishers
    #expect(read.reading(after: first, now: 9).publishers.broken.map(\.since) == [7])
  }

  @Test func `what hides callers`() throws {
    func hides(_ members: String) throws -> Bool? {
      try folder.write(#"{"publisherId": 5, \#(members)}"#, to: "publishers/5.json")
      return try reading().publishers.broken.first?.hidesCallers
    }
    #expect(try hides(#""customers": "x""#) == false)
    #expect(try hides(#""webhooks": [{}]"#) == false)
    #expect(try hides(#""tokenHashes": ["x"]"#) == true)
    #expect(try hides(#""tokenHashes": 1"#) == true)
    #expect(try hides(#""tokens": [{"name": "a"}]"#) == true)
    #expect(try hides(#""customerTokens": {"algorithm": "HS256", "secretFile": "none"}"#) == true)
    #expect(try hides(#""tokensOfOthers": 1"#) == false)
    #expect(try hides("{") == true)
  }

  // MARK: Two files that contradict each other

  @Test func `of two files with one id, that with the id's name counts`() throws {
    try write(4)
    try write(4, to: "5.json", token: 5)
    let found = try reading()
    #expect(found.publishers.file(of: 4) == "4.json")
    #expect(broken(found.publishers) == ["5.json 5 absent"])
    #expect(found.mistakes.count == 1)
  }

  @Test func `without such a name, neither counts at a start, and the one in use counts later`() throws {
    try write(4, to: "b.json")
    try write(7)
    let first = try reading().publishers
    try write(4, to: "a.json", token: 6)
    #expect(broken(try reading().publishers) == ["a.json 4 absent", "b.json 4 absent"])
    let second = try reading(after: first).publishers
    #expect(second.file(of: 4) == "b.json")
    #expect(broken(second).map { $0.prefix(6) } == ["a.json"])
    // Its good new content counts, although the other file contradicts it.
    try write(4, to: "b.json", #", "customers": "open""#)
    #expect(customers(4, try reading(after: second).publishers) == .open)
  }

  @Test func `a file that takes another publisher's id leaves its own publisher as it was`() throws {
    try write(4)
    try write(5)
    let first = try reading().publishers
    try write(4, to: "5.json", token: 5)
    let second = try reading(after: first).publishers
    #expect(second.all.map(\.id) == [4, 5])
    #expect(broken(second) == ["5.json 5 kept"])
  }

  @Test func `at a start nobody can tell whose a token is, and later it stays with its owner`() throws {
    try write(4)
    try write(5)
    try write(6)
    let first = try reading().publishers
    try write(5, token: 4)
    #expect(broken(try reading().publishers) == ["4.json 4 absent", "5.json 5 absent"])
    #expect(try reading().publishers.all.map(\.id) == [6])
    let second = try reading(after: first).publishers
    #expect(broken(second) == ["5.json 5 kept"])
    // The owner may change meanwhile. When it gives the token up, the other one gets it.
    try write(4, token: 4, #", "customers": "open""#)
    let third = try reading(after: second).publishers
    #expect(customers(4, third) == .open)
    try write(4, token: 8)
    #expect(try reading(after: third).publishers.broken.isEmpty)
  }

  @Test func `a token that moves to another publisher waits until the first file is good`() throws {
    try write(4)
    try write(5)
    let first = try reading().publishers
    try write(4, token: 8, #", "customers": "closed""#)
    try write(5, token: 4)
    let second = try reading(after: first).publishers
    #expect(broken(second) == ["4.json 4 kept", "5.json 5 kept"])
    try write(4, token: 8)
    let third = try reading(after: second).publishers
    #expect(third.broken.isEmpty && third.all.map(\.id) == [4, 5])
  }

  @Test func `taking back one file may take back another, but not a third`() throws {
    // 4 has a, 5 has b. Now 5 wants a and gives up b, 6 is new and wants b, 7 has what nobody wants.
    try write(4)
    try write(5)
    let first = try reading().publishers
    try write(5, token: 4)
    try write(6, token: 5)
    try write(7)
    let second = try reading(after: first).publishers
    #expect(second.all.map(\.id) == [4, 5, 7])
    #expect(broken(second) == ["5.json 5 kept", "6.json 6 absent"])
  }

  @Test func `a file that is gone takes its publisher with it`() throws {
    try write(4)
    try write(5)
    let first = try reading().publishers
    try folder.remove("publishers/5.json")
    let second = try reading(after: first).publishers
    #expect(second.all.map(\.id) == [4] && second.broken.isEmpty)
  }

  @Test func `only changed files are read into new publishers`() throws {
    try write(4)
    try write(5)
    let read = try folder.loader().publisherFolder(folder.path + "/publishers")
    let first = read.reading(now: 1).publishers
    try write(5, #", "customers": "open""#)
    let loader = folder.loader()
    let second = try loader.publisherFolder(folder.path + "/publishers", after: read).reading(after: first, now: 2)
    #expect(second.publishers[4] === first[4])
    #expect(second.publishers[5] !== first[5] && customers(5, second.publishers) == .open)
    // The reading has noted them all the same.
    #expect(!loader.files.haveChanged)
    try write(4, #", "customers": "open""#)
    #expect(loader.files.haveChanged)
  }
}
