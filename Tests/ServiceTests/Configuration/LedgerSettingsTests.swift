import Configuration
import Crypto
import RoleSupport
import Testing

/// The section `ledger` of the configuration file.
struct LedgerSettingsTests {
  private let folder: ConfigurationFolder
  private let expected = "a URL of the form postgresql://user:password@host:port,host2:port2/database"

  init() throws { folder = try ConfigurationFolder() }

  private func json(_ url: String) -> String { #"{"ledger": {"url": "\#(url)"}}"# }

  @Test func defaults() throws {
    let ledger = try folder.settings(json("postgresql://u@h/d")).ledger
    #expect(ledger.url == "postgresql://u@h/d")
    #expect(ledger.password == nil)
    #expect(ledger.caFile == nil)
    #expect(ledger.connections == 2)
    #expect(ledger.replyTimeout == .seconds(5))
  }

  @Test func everyKey() throws {
    try folder.write("from file\n", to: "ledger.password")
    let ledger = try folder.settings(
      """
      {"ledger": {"url": "postgresql://u:inline@h:5432,[::1]:5433/d", "passwordFile": "ledger.password",
        "caFile": "ca.pem", "connections": 8, "replyTimeoutSeconds": 0.5}}
      """
    ).ledger
    #expect(ledger.url == "postgresql://u:inline@h:5432,[::1]:5433/d")
    #expect(ledger.password == "from file")
    #expect(ledger.caFile == folder.path + "/ca.pem")
    #expect(ledger.connections == 8)
    #expect(ledger.replyTimeout == .milliseconds(500))
  }

  @Test(arguments: [
    "postgresql://u@h/d", "postgres://u@h/d", "postgresql://u:p%40ss%2F@h:1/d", "postgresql://u:p,q@h,i,j/d",
    "postgresql://u:p@[::1]:5432,h/d", "postgresql://u@h:1,h:2/d%20e", "postgresql://u:a?b#c@h/d",
  ])
  func usable(url: String) throws {
    #expect(try folder.settings(json(url)).ledger.url == url)
  }

  @Test(arguments: [
    "h", "postgre://u@h/d", "POSTGRESQL://u@h/d", "postgresql://h/d", "postgresql://@h/d", "postgresql://u@h",
    "postgresql://u@h/", "postgresql://u@h/d/e", "postgresql://u@/d", "postgresql://u@h,/d", "postgresql://u@,h/d",
    "postgresql://u@h:0/d", "postgresql://u@h,i:65536/d", "postgresql://u@h/d?sslmode=disable", "postgresql://u@::1/d",
    "postgresql://u:%zz@h/d", "postgresql://u@h?sslmode=disable/d", "postgresql://u:a%00b@h/d",
  ])
  func unusable(url: String) throws {
    #expect(try folder.mistakes(json(url)) == ["countersign.json: ledger.url: expected \(expected)"])
    #expect(
      try folder.mistakes("{}", ["COUNTERSIGN_LEDGER_URL": url])
        == ["environment: COUNTERSIGN_LEDGER_URL: expected \(expected)"])
  }

  /// Only the simulator runs without a ledger.
  @Test func missing() throws {
    #expect(try folder.mistakes("{}").isEmpty)
    for user in SettingsUser.allCases {
      #expect(
        try folder.mistakes("{}", for: [user]) == ["countersign.json: ledger.url: is missing, expected \(expected)"])
      #expect(try folder.mistakes(json("postgresql://u@h/d"), for: [user]).isEmpty)
    }
  }

  @Test func authorities() throws {
    try folder.write(try CertificateAuthority.root(commonName: "Root").certificate.pem, to: "good.pem")
    try folder.write("no certificate", to: "bad.pem")
    func mistakes(_ file: String, _ users: Set<SettingsUser>) throws -> [String] {
      try folder.mistakes(
        #"{"ledger": {"url": "postgresql://u@h/d", "caFile": "\#(file)"}}"#, for: users)
    }
    for user in SettingsUser.allCases {
      #expect(try mistakes("good.pem", [user]) == [])
      #expect(
        try mistakes("bad.pem", [user])
          == ["countersign.json: ledger.caFile: the file bad.pem holds no certificate in PEM"])
      #expect(
        try mistakes("nope.pem", [user])
          == ["countersign.json: ledger.caFile: the file nope.pem cannot be read: there is no such file"])
    }
    #expect(try mistakes("nope.pem", []) == [])
  }

  @Test func noSecretIsShown() throws {
    let secret = "hunter2"
    let mistakes = try folder.mistakes(
      #"{"ledger": {"url": "postgresql://u:\#(secret)@h:x/d", "passwordFile": "\#(secret)", "connections": 0}}"#)
    #expect(mistakes.count == 3)
    #expect(mistakes.allSatisfy { !$0.contains(secret) }, "\(mistakes)")
  }
}
