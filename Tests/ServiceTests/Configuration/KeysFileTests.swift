import Configuration
import Crypto
import RoleSupport
import Testing

/// The file of `ledger.keysFile`, and who reads it.
struct KeysFileTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private static let settings = """
    {"ledger": {"url": "postgresql://countersign@localhost/countersign", "keysFile": "keys.json"}}
    """
  private static let key = Base64.encode(Array(repeating: 1, count: 32))
  private static let other = Base64.encode(Array(repeating: 2, count: 32))

  private func problem(_ file: String?) throws -> String? {
    if let file { try folder.write(file, to: "keys.json") }
    let all = try folder.mistakes(Self.settings, for: [.notifier])
    return all.first.map { $0.replacing("countersign.json: ledger.keysFile: ", with: "") }
  }

  @Test func `the first key encrypts, and a later reading has other keys`() throws {
    try folder.write(
      #"{"keys": [{"id": "2026-11", "key": "\#(Self.key)"}, {"id": "2025_01.a", "key": "\#(Self.other)"}]}"#,
      to: "keys.json")
    let settings = try folder.settings(Self.settings).ledger
    #expect(settings.keysFile == folder.path + "/keys.json")
    #expect(try settings.readKeys().ids == ["2026-11", "2025_01.a"])
    try folder.write(#"{"keys": [{"id": "2027", "key": "\#(Self.other)"}]}"#, to: "keys.json")
    #expect(try settings.readKeys().ids == ["2027"])
    let without = try folder.settings("{}").ledger
    #expect(without.keysFile == nil)
    #expect(try without.readKeys().first == nil)
  }

  @Test func `every mistake is told without a key`() throws {
    #expect(try problem(nil) == "the file that it names cannot be read: there is no such file; it was looked for in ")
    #expect(try problem("") == "the file is not JSON: it is empty")
    #expect(try problem("[]") == "the file is an array, expected a JSON object")
    #expect(
      try problem(#"{"keys": [], "keys": []}"#)
        == "the file has a member twice in one object, the second time at line 1, column 15")
    let only = #"the file's only member must be "keys", an array of objects"#
    #expect(try problem("{}") == only)
    #expect(try problem(#"{"keys": {}}"#) == only)
    #expect(try problem(#"{"keys": [], "key": 1}"#) == only)
    #expect(
      try problem(#"{"keys": []}"#) == #"the file's "keys" is empty, expected a key, or no ledger.keysFile at all"#)
    let shape = #"the file's keys[0] must be an object with "id" and "key" only"#
    #expect(try problem(#"{"keys": ["\#(Self.key)"]}"#) == shape)
    #expect(try problem(#"{"keys": [{"id": "a"}]}"#) == shape)
    #expect(try problem(#"{"keys": [{"id": "a", "key": "\#(Self.key)", "more": 1}]}"#) == shape)
    let id = "the file's keys[0].id must be 1 to 64 letters, digits, '.', '_' or '-'"
    for text in ["", "a b", "\u{e9}", String(repeating: "a", count: 65)] {
      #expect(try problem(#"{"keys": [{"id": "\#(text)", "key": "\#(Self.key)"}]}"#) == id)
    }
    let key = "the file's keys[0].key must be the base64 of 32 bytes, as `openssl rand -base64 32` prints it"
    for text in ["", "secret", String(Self.key.dropLast()), Base64.encode(Array(repeating: 1, count: 16))] {
      #expect(try problem(#"{"keys": [{"id": "a", "key": "\#(text)"}]}"#) == key)
    }
    let first = #"{"id": "a", "key": "\#(Self.key)"}"#
    #expect(
      try problem(#"{"keys": [\#(first), {"id": "a", "key": "\#(Self.other)"}]}"#)
        == "the file's keys[1].id is there twice")
    #expect(
      try problem(#"{"keys": [\#(first), {"id": "b", "key": "\#(Self.key)"}]}"#)
        == "the file's keys[1].key is there twice")
    #expect(try problem(#"{"keys": [\#(first)]}"#) == nil)
  }

  /// Each byte of the file may be one of a key.
  @Test(arguments: [
    (#"{"keys": [\#n{"id": "a", "key": Zm9v}]}"#, "line 2, column 20: a character is unexpected; if it is a text, "),
    (#"{"keys": [{"id" "a"}]}"#, "line 1, column 17: a character is unexpected; is a colon missing before it?"),
    (#"{"keys": [{"id": "a"#, "line 1, the end of the file: is a quotation mark missing?"),
    ("{\"keys\": [\n]", "line 2, the end of the file: the '{' of line 1, column 1 has no '}'"),
    ("\u{feff}{}", "it begins with a byte order mark; save it as UTF-8 without a byte order mark"),
  ])
  func `broken JSON has a place, and no byte of the file is shown`(text: String, mistake: String) throws {
    let problem = try #require(try problem(text))
    #expect(problem.hasPrefix("the file is not JSON: " + mistake) && !problem.contains("Z"), "\(problem)")
  }

  @Test func `whoever refuses plain secrets needs keys`() throws {
    func mistakes(_ members: String, _ user: SettingsUser) throws -> [String] {
      let url = #""url": "postgresql://countersign@localhost/countersign""#
      return try folder.mistakes(#"{"ledger": {\#(url)\#(members)}}"#, for: [user])
    }
    try folder.write(#"{"keys": [{"id": "a", "key": "\#(Self.key)"}]}"#, to: "keys.json")
    let refuses = #", "refusesPlainSecrets": true"#
    for user in [SettingsUser.gateway, .notifier, .console] {
      #expect(
        try mistakes(refuses, user) == [
          "countersign.json: ledger.refusesPlainSecrets: is true, expected a file for ledger.keysFile too"
        ])
      #expect(try mistakes(refuses + #", "keysFile": "keys.json""#, user) == [])
      #expect(try mistakes(#", "refusesPlainSecrets": false"#, user) == [])
    }
    #expect(try mistakes(refuses, .worker) == [])
    #expect(try folder.settings("{}").ledger.refusesPlainSecrets == false)
  }

  /// A worker and `migrate` need no key, so nobody has to give them the file.
  @Test func `only those who see secrets read the file`() throws {
    for user in [SettingsUser.gateway, .notifier, .console, .rekey] {
      #expect(try folder.mistakes(Self.settings, for: [user]).count == 1, "\(user)")
    }
    for user in [SettingsUser.worker, .migrate] {
      #expect(try folder.mistakes(Self.settings, for: [user]).isEmpty, "\(user)")
    }
  }
}
