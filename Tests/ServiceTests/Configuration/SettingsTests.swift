import Configuration
import Crypto
import Domain
import Formats
import FoundationEssentials
import RoleSupport
import Testing
import Transport

/// The configuration file and the variables that override it.
struct SettingsTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  // MARK: Reading

  @Test func defaults() throws {
    let settings = try folder.settings()
    #expect(settings.rabbitmq.nodes.first?.host == "127.0.0.1")
    #expect(settings.rabbitmq.nodes.first?.port == 5672)
    #expect(settings.rabbitmq.user == "guest")
    #expect(settings.rabbitmq.virtualHost == "/")
    #expect(settings.redis.address.port == 6379)
    #expect(settings.redis.user == nil)
    #expect(settings.redis.password == nil)
    #expect(settings.redis.database == 0)
    #expect(settings.publishersFolder == folder.path + "/publishers")
    #expect(settings.appStore.rootFiles.isEmpty)
    #expect(settings.appStore.caFile == nil)
    #expect(settings.gateway.listen.host == "127.0.0.1")
    #expect(settings.gateway.listen.port == 8080)
    #expect(settings.gateway.trustedProxies.isEmpty)
    #expect(settings.worker.retrySchedule.prefix(3) == [.seconds(1), .seconds(5), .seconds(30)])
    #expect(settings.worker.retrySchedule.count == 28)
    #expect(!settings.notifier.allowsInsecureEndpoints)
    #expect(settings.notifier.addresses.allowed.isEmpty)
    #expect(settings.notifier.disableAfter == .seconds(432_000))
    #expect(settings.notifier.logRetention == .seconds(2_592_000))
    #expect(settings.logLevel == .info)
    #expect(settings.shutdownGrace == .seconds(25))
  }

  @Test func everyKind() throws {
    let settings = try folder.settings(
      """
      {
        "rabbitmq": {"prefix": "cs", "heartbeatSeconds": 1.5},
        "redis": {"timeoutSeconds": 1.001},
        "appStore": {"rootFiles": ["a.pem", "/b.pem"], "caFile": "ca.pem", "productionURL": "https://localhost:8443/"},
        "gateway": {"trustedProxies": ["10.2.0.0/16", "192.0.2.7"]},
        "worker": {"concurrency": 3, "retryScheduleSeconds": [0.2, 3]},
        "notifier": {"allowsInsecureEndpoints": true, "allowedNetworks": ["10.1.0.0/16", "::1"]},
        "simulator": {
          "apps": ["com.a:1:issuer:key", "com.b:2:issuer:key"], "lives": {"monthSeconds": 1.5},
          "notifications": {"urls": ["http://127.0.0.1:1/x", "https://b.test/y"], "version": 1}
        },
        "log": {"level": "debug"}
      }
      """)
    #expect(settings.rabbitmq.prefix == "cs")
    #expect(settings.rabbitmq.heartbeat == .milliseconds(1500))
    #expect(settings.redis.timeout == .milliseconds(1001))
    #expect(settings.appStore.rootFiles == [folder.path + "/a.pem", "/b.pem"])
    #expect(settings.appStore.caFile == folder.path + "/ca.pem")
    #expect(settings.appStore.productionURL == "https://localhost:8443")
    #expect(settings.gateway.trustedProxies == ["10.2.0.0/16", "192.0.2.7"].compactMap { AddressBlock($0) })
    #expect(settings.worker.concurrency == 3)
    #expect(settings.worker.retrySchedule == [.milliseconds(200), .seconds(3)])
    #expect(settings.notifier.allowsInsecureEndpoints)
    #expect(settings.notifier.addresses.allowed == ["10.1.0.0/16", "::1/128"].compactMap { AddressBlock($0) })
    #expect(settings.simulator.apps.map(\.bundleId) == ["com.a", "com.b"])
    #expect(settings.simulator.apps.map(\.appAppleId) == [1, 2])
    #expect(settings.simulator.lifeMonth == .milliseconds(1500) && settings.simulator.notificationVersion == 1)
    #expect(settings.simulator.notificationURLs == ["http://127.0.0.1:1/x", "https://b.test/y"])
    #expect(settings.logLevel == .debug)
  }

  /// A missing, null or empty value counts as absent.
  @Test func absence() throws {
    let settings = try folder.settings(#"{"worker": {}, "redis": null, "gateway": {"maxBodyBytes": null}}"#)
    #expect(settings.worker.concurrency == 200)
    #expect(settings.gateway.maxBodyBytes == 16384)
  }

  // MARK: Mistakes

  /// A copy of a job may wait for the longest delay, a tenth more, and must still find what the original came to.
  @Test func aStatusOutlivesEveryCopyOfItsJob() throws {
    func json(_ retention: Int) -> String {
      #"{"worker": {"retryScheduleSeconds": [6000], "sweepAfterSeconds": 120, "statusRetentionSeconds": \#(retention)}}"#
    }
    #expect(try folder.settings(json(6750)).worker.statusRetention == .seconds(6750))
    #expect(
      try folder.mistakes(json(6749)) == [
        "countersign.json: worker.statusRetentionSeconds: is too short, expected 30 seconds more than the longest retry, "
          + "which may end a tenth later, and the sweep"
      ])
  }

  @Test func allMistakesAtOnce() throws {
    let mistakes = try folder.mistakes(
      """
      {
        "rabbitmq": {"url": "http://rabbitmq", "heartbeatSeconds": 0},
        "redis": {"url": 5},
        "appStore": {"productionURL": "http://apple", "maxConnections": 4.5, "rootFiles": [1]},
        "gateway": {"listen": "8080", "maxBodyBytes": 10, "publishTimeoutSeconds": "soon", "trustedProxies": ["lb"]},
        "worker": {"concurrency": true, "retryScheduleSeconds": [1, 0], "concurency": 5},
        "notifier": {"allowsInsecureEndpoints": 1, "retryScheduleSeconds": [], "allowedNetworks": ["10.1.0.0/8"]},
        "simulator": {"apps": ["a:b:c:d"], "notifications": {"urls": ["b.test"], "version": 3}},
        "log": {"level": "loud"},
        "more": [1]
      }
      """)
    #expect(
      mistakes == [
        "countersign.json: rabbitmq.url: expected amqp:// or amqps://user:password@host:port/vhost",
        "countersign.json: rabbitmq.heartbeatSeconds: is 0, expected seconds from 1 to 600",
        "countersign.json: redis.url: is a number, expected a string",
        "countersign.json: appStore.productionURL: expected an https:// URL",
        "countersign.json: appStore.rootFiles: is an array, expected a list of strings",
        "countersign.json: appStore.maxConnections: is 4.5, expected a whole number from 1 to 50",
        "countersign.json: gateway.listen: is \"8080\", expected address:port with a numeric address, for example "
          + "0.0.0.0:8080",
        "countersign.json: gateway.maxBodyBytes: is 10, expected a whole number from 256 to 1048576",
        "countersign.json: gateway.publishTimeoutSeconds: is \"soon\", expected seconds from 0.1 to 30",
        "countersign.json: gateway.trustedProxies: has \"lb\", expected an address, or a block such as 10.1.0.0/16",
        "countersign.json: worker.concurrency: is true, expected a whole number from 1 to 10000",
        "countersign.json: worker.retryScheduleSeconds: is an array, expected a list of seconds from 0.001 to 604800",
        "countersign.json: notifier.retryScheduleSeconds: is an array, expected a list of seconds from 0.001 to 604800",
        "countersign.json: notifier.allowsInsecureEndpoints: is 1, expected true or false",
        "countersign.json: notifier.allowedNetworks: has \"10.1.0.0/8\", expected a block such as 10.1.0.0/16 or fd00::/8",
        "countersign.json: simulator.apps: has \"a:b:c:d\", expected bundleId:appAppleId:issuerId:keyId",
        "countersign.json: simulator.notifications.urls: has \"b.test\", expected an http:// or https:// URL",
        "countersign.json: simulator.notifications.version: is 3, expected a whole number from 1 to 2",
        "countersign.json: log.level: is \"loud\", expected one of debug, info, warning, error",
        "countersign.json: more: is no key of this file",
        "countersign.json: worker.concurency: is no key of this file; did you mean worker.concurrency?",
      ])
  }

  @Test func unknownKeys() throws {
    let mistakes = try folder.mistakes(
      #"{"rabbitmq.url": "amqp://x", "redis": {"Url": "redis://x"}, "worker": 5, "other": {"a": {"b": 1}}, "empty": {}}"#
    )
    #expect(
      mistakes == [
        "countersign.json: empty: is no key of this file",
        "countersign.json: other.a.b: is no key of this file",
        "countersign.json: rabbitmq.url: is no key of this file",
        "countersign.json: redis.Url: is no key of this file; did you mean redis.url?",
        "countersign.json: worker: is a number, expected an object",
      ])
  }

  @Test(arguments: [
    ("", "countersign.json: is not JSON: it is empty"),
    ("{\n", "countersign.json: is not JSON: line 1, the end of the file: the '{' of line 1, column 1 has no '}'"),
    ("{\"redis\" {}}", "countersign.json: is not JSON: line 1, column 10: '{' is unexpected; is a colon missing"),
    ("{\n  \"worker\": {},\n}", "countersign.json: is not JSON: line 3, column 1: '}' is unexpected; drop the comma"),
    ("{\"worker\": \u{FEFF}{}}", "countersign.json: is not JSON: line 1, column 12: the byte 239 is unexpected"),
    ("[]", "countersign.json: is an array, expected a JSON object"),
    ("5", "countersign.json: is a number, expected a JSON object"),
  ])
  func noObject(text: String, start: String) throws {
    let mistakes = try folder.mistakes(text)
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix(start) == true, "\(mistakes)")
  }

  @Test func missingFile() {
    let error = #expect(throws: ConfigurationError.self) { try folder.loader().settings() }
    let problem = "the file cannot be read: there is no such file; check its path"
    #expect(error?.description == "\(folder.path)/countersign.json: \(problem)")
  }

  /// Somebody in another folder would not know which file was meant.
  @Test func `a relative path is shown from the root`() {
    let loader = ConfigurationLoader(file: "./no/countersign.json", environment: [:], doors: [])
    let error = #expect(throws: ConfigurationError.self) { try loader.settings() }
    let place = FileManager.default.currentDirectoryPath + "/no/countersign.json"
    #expect(
      error?.description
        == "./no/countersign.json: the file \(place) cannot be read: there is no such file; check its path")
  }

  @Test func `a folder is no file`() {
    let loader = ConfigurationLoader(file: folder.path, environment: [:], doors: [])
    let error = #expect(throws: ConfigurationError.self) { try loader.settings() }
    #expect(error?.description == "\(folder.path): the file cannot be read: it is a folder; name a file in it")
  }

  @Test func `an empty section with a wrong name leads to the section`() throws {
    #expect(
      try folder.mistakes(#"{"redys": {}, "gateway": {"limit": {}}}"#) == [
        "countersign.json: gateway.limit: is no key of this file; did you mean gateway.limits?",
        "countersign.json: redys: is no key of this file; did you mean redis?",
      ])
  }

  /// A variable holds text only; in the file a number is a number.
  @Test func texts() throws {
    let mistakes = try folder.mistakes(
      """
      {"redis": {"timeoutSeconds": "3"}, "worker": {"concurrency": "3", "retryScheduleSeconds": ["1", 2]},
       "notifier": {"retryScheduleSeconds": "1,2", "allowsInsecureEndpoints": "true", "allowedNetworks": "10.0.0.0/8"}}
      """)
    #expect(
      mistakes == [
        "countersign.json: redis.timeoutSeconds: is \"3\", expected seconds from 0.05 to 60",
        "countersign.json: worker.concurrency: is \"3\", expected a whole number from 1 to 10000",
        "countersign.json: worker.retryScheduleSeconds: is an array, expected a list of seconds from 0.001 to 604800",
        "countersign.json: notifier.retryScheduleSeconds: is \"1,2\", expected a list of seconds from 0.001 to 604800",
        "countersign.json: notifier.allowsInsecureEndpoints: is \"true\", expected true or false",
        "countersign.json: notifier.allowedNetworks: is \"10.0.0.0/8\", expected a list of strings",
      ])
  }

  @Test(arguments: [
    (#"{"worker": {"concurrency": 1, "concurrency": 2}}"#, "concurrency", 32),
    (#"{"log": {}, "l\u006fg": {"level": "debug"}}"#, "log", 14),
  ])
  func duplicateKey(text: String, key: String, column: Int) throws {
    #expect(
      try folder.mistakes(text) == [
        "countersign.json: \(key): appears twice in one object, the second time at line 1, column \(column)"
      ])
  }

  // MARK: Files

  private func fileMistakes(_ text: String, _ users: Set<SettingsUser>, _ environment: [String: String] = [:]) throws
    -> [String]
  {
    let ledger = ["COUNTERSIGN_LEDGER_URL": "postgresql://u@h/d"]
    return try folder.mistakes(text, ledger.merging(environment) { $1 }, for: users)
  }

  @Test func filesThatRolesNeed() throws {
    let authority = try CertificateAuthority.root(commonName: "Root").certificate
    try folder.write(authority.pem, to: "good.pem")
    try folder.write(authority.der, to: "good.der")
    try folder.write("no certificate", to: "bad.pem")
    try folder.write(Array(authority.der.dropLast()), to: "bad.der")
    func text(_ roots: String, _ apple: String, _ endpoints: String) -> String {
      #"{"appStore": {"rootFiles": \#(roots), "caFile": "\#(apple)"}, "notifier": {"caFile": "\#(endpoints)"}}"#
    }
    let all = Set(SettingsUser.allCases)
    #expect(try fileMistakes(text(#"["good.pem", "good.der"]"#, "good.pem", "good.pem"), all) == [])
    let missing = text(#"["good.pem", "nope.der"]"#, "nope.pem", "nowhere/nope.pem")
    #expect(
      try fileMistakes(missing, all) == [
        "countersign.json: appStore.rootFiles: the file nope.der cannot be read: there is no such file",
        "countersign.json: appStore.caFile: the file nope.pem cannot be read: there is no such file",
        "countersign.json: notifier.caFile: the file nowhere/nope.pem cannot be read: there is no such file",
      ])
    #expect(
      try fileMistakes(text(#"["bad.pem", "bad.der"]"#, "bad.pem", "good.der"), all) == [
        "countersign.json: appStore.rootFiles: the file bad.pem is neither a DER nor a PEM certificate",
        "countersign.json: appStore.rootFiles: the file bad.der is neither a DER nor a PEM certificate",
        "countersign.json: appStore.caFile: the file bad.pem holds no certificate in PEM",
        "countersign.json: notifier.caFile: the file good.der holds no certificate in PEM",
      ])
    // A role checks only the files that it will read: the simulator is about to make the worker's.
    #expect(try fileMistakes(missing, []) == [])
    #expect(try fileMistakes(missing, [.worker]).count == 2)
    #expect(try fileMistakes(missing, [.notifier]).count == 1)
    #expect(
      try fileMistakes("{}", all, ["COUNTERSIGN_NOTIFIER_CA_FILE": "nope.pem"]) == [
        "environment: COUNTERSIGN_NOTIFIER_CA_FILE: the file nope.pem cannot be read: there is no such file"
      ])
  }

  /// A mistake that a role finds at its start names the key, too.
  @Test func placeOfAMistake() {
    let loader = folder.loader(["COUNTERSIGN_WORKER_LISTEN": "127.0.0.1:1"])
    #expect(
      loader.mistake("gateway.listen", "taken").description == "\(folder.path)/countersign.json: gateway.listen: taken")
    #expect(
      loader.mistake("worker.listen", "taken").description == "environment: COUNTERSIGN_WORKER_LISTEN: taken")
  }

  // MARK: Variables

  @Test func variablesOverrideEachKind() throws {
    let settings = try folder.settings(
      #"{"rabbitmq": {"prefix": "file"}, "worker": {"concurrency": 1}, "log": {"level": "error"}}"#,
      [
        "COUNTERSIGN_RABBITMQ_PREFIX": "env", "COUNTERSIGN_WORKER_CONCURRENCY": "7",
        "COUNTERSIGN_REDIS_TIMEOUT_SECONDS": "0.29", "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "1, 2.5,60",
        "COUNTERSIGN_SIMULATOR_TLS_NAMES": "one, two ,three,", "COUNTERSIGN_NOTIFIER_ALLOWS_INSECURE_ENDPOINTS": "true",
        "COUNTERSIGN_LOG_LEVEL": "warning", "COUNTERSIGN_APP_STORE_PRODUCTION_URL": "https://apple.test",
        "COUNTERSIGN_PUBLISHERS_FOLDER": "/etc/publishers", "COUNTERSIGN_APP_STORE_CA_FILE": "ca.pem",
        "COUNTERSIGN_GATEWAY_LISTEN": "[::1]:0", "PATH": "/bin",
      ])
    #expect(settings.rabbitmq.prefix == "env")
    #expect(settings.worker.concurrency == 7)
    #expect(settings.redis.timeout == .milliseconds(290))
    #expect(settings.worker.retrySchedule == [.seconds(1), .milliseconds(2500), .seconds(60)])
    #expect(settings.simulator.tlsNames == ["one", "two", "three"])
    #expect(settings.notifier.allowsInsecureEndpoints)
    #expect(settings.logLevel == .warning)
    #expect(settings.appStore.productionURL == "https://apple.test")
    #expect(settings.publishersFolder == "/etc/publishers")
    #expect(settings.appStore.caFile == folder.path + "/ca.pem")
    #expect(settings.gateway.listen.host == "::1")
    #expect(settings.gateway.listen.port == 0)
  }

  /// A variable replaces even an unusable value of the file.
  @Test func variableHealsTheFile() throws {
    let settings = try folder.settings(
      #"{"worker": {"concurrency": "many"}}"#, ["COUNTERSIGN_WORKER_CONCURRENCY": "7"])
    #expect(settings.worker.concurrency == 7)
  }

  @Test func wrongVariables() throws {
    let mistakes = try folder.mistakes(
      "{}",
      [
        "COUNTERSIGN_RABBITMQ_PREFIX": "", "COUNTERSIGN_RABBITMQ_URL": "amqpss://x",
        "COUNTERSIGN_WORKER_CONCURRENCY": "1.5", "COUNTERSIGN_REDIS_TIMEOUT_SECONDS": "nan",
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "1,x", "COUNTERSIGN_NOTIFIER_ALLOWS_INSECURE_ENDPOINTS": "yes",
        "COUNTERSIGN_LOG_LEVEL": "INFO", "COUNTERSIGN_GATEWAY_LISTEN": "localhost:8080",
        "COUNTERSIGN_WORKER_CONCURENCY": "5", "COUNTERSIGN_": "",
      ])
    #expect(
      mistakes == [
        "environment: COUNTERSIGN_RABBITMQ_URL: expected amqp:// or amqps://user:password@host:port/vhost",
        "environment: COUNTERSIGN_RABBITMQ_PREFIX: is \"\", expected a string",
        "environment: COUNTERSIGN_REDIS_TIMEOUT_SECONDS: is \"nan\", expected seconds from 0.05 to 60",
        "environment: COUNTERSIGN_GATEWAY_LISTEN: is \"localhost:8080\", expected address:port with a numeric address, "
          + "for example 0.0.0.0:8080",
        "environment: COUNTERSIGN_WORKER_CONCURRENCY: is \"1.5\", expected a whole number from 1 to 10000",
        "environment: COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS: is \"1,x\", expected a list of seconds from 0.001 to "
          + "604800",
        "environment: COUNTERSIGN_NOTIFIER_ALLOWS_INSECURE_ENDPOINTS: is \"yes\", expected true or false",
        "environment: COUNTERSIGN_LOG_LEVEL: is \"INFO\", expected one of debug, info, warning, error",
        "environment: COUNTERSIGN_: overrides no key",
        "environment: COUNTERSIGN_WORKER_CONCURENCY: overrides no key; did you mean COUNTERSIGN_WORKER_CONCURRENCY?",
      ])
  }

  @Test func variablesOfTestsAreNoMistake() throws {
    #expect(try folder.mistakes("{}", ["COUNTERSIGN_TEST_REDIS": "x", "COUNTERSIGN_FIXTURES": "x"]).isEmpty)
  }

  // MARK: Secrets

  @Test func secretsFromFiles() throws {
    try folder.write("from file\r\n\n", to: "rabbitmq.password")
    try folder.write(" kept space ", to: "redis.password")
    let settings = try folder.settings(
      """
      {
        "rabbitmq": {"url": "amqp://user:inline@rabbitmq", "passwordFile": "rabbitmq.password"},
        "redis": {"passwordFile": "\(folder.path)/redis.password"}
      }
      """)
    #expect(settings.rabbitmq.password == "from file")
    #expect(settings.rabbitmq.user == "user")
    #expect(settings.redis.password == " kept space ")
  }

  @Test func secretFileThatCannotBeRead() throws {
    try folder.write([0xFF, 0xFE], to: "binary")
    let mistakes = try folder.mistakes(
      #"{"rabbitmq": {"passwordFile": "missing"}}"#, ["COUNTERSIGN_REDIS_PASSWORD_FILE": "binary"])
    #expect(
      mistakes == [
        "countersign.json: rabbitmq.passwordFile: the file that it names cannot be read: there is no such file; it was looked for in ",
        "environment: COUNTERSIGN_REDIS_PASSWORD_FILE: the file that it names is not a text in UTF-8",
      ])
  }

  /// A secret in the place of its file's name, or in a URL that cannot be read.
  @Test(arguments: ["hunter2", "dir/hunter2", "hunter2/a", "hunter2\\n", "/hunter2/a"])
  func secretsAreNotShown(secret: String) throws {
    let mistakes = try folder.mistakes(
      """
      {"rabbitmq": {"url": "amqpss://user:\(secret)@h", "passwordFile": "\(secret)"},
       "redis": {"url": ["\(secret)"], "passwordFile": "\(secret)"},
       "appStore": {"productionURL": "http://user:\(secret)@h", "sandboxURL": {"\(secret.prefix(3))": 1}}}
      """, ["COUNTERSIGN_REDIS_URL": "user:\(secret)@h", "COUNTERSIGN_RABBITMQ_PASSWORD_FILE": secret])
    #expect(mistakes.count >= 6)
    #expect(mistakes.allSatisfy { !$0.contains("hunter2") }, "\(mistakes)")
  }
}
