import RoleSupport
import Testing

@testable import Configuration

/// What a process tells of its configuration: what somebody has set, and never a secret.
struct StatedSettingTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func stated(_ text: String = "{}", _ environment: [String: String] = [:]) throws -> [String: String] {
    try folder.write(text, to: "stated.json")
    let settings = try ConfigurationLoader(file: folder.path + "/stated.json", environment: environment, doors: [])
      .settings()
    return Dictionary(settings.stated.map { ($0.key, $0.value) }) { first, _ in first }
  }

  @Test func `what has its default is not stated`() throws {
    #expect(try stated() == [:])
    #expect(try stated(#"{"log": {"level": "info"}, "reloadSeconds": 30}"#) == [:])
    #expect(try stated("{}", ["COUNTERSIGN_LOG_LEVEL": "info", "COUNTERSIGN_RELOAD_SECONDS": "30"]) == [:])
  }

  @Test func `values read alike from the file and from variables`() throws {
    let file = try stated(
      #"""
      {"log": {"level": "debug"}, "reloadSeconds": 1.5, "worker": {"concurrency": 3, "retryScheduleSeconds": [0.2, 3]},
       "notifier": {"allowsInsecureEndpoints": true}}
      """#)
    let variables = try stated(
      "{}",
      [
        "COUNTERSIGN_LOG_LEVEL": "debug", "COUNTERSIGN_RELOAD_SECONDS": "1.5", "COUNTERSIGN_WORKER_CONCURRENCY": "3",
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "0.2,3", "COUNTERSIGN_NOTIFIER_ALLOWS_INSECURE_ENDPOINTS": "true",
      ])
    #expect(file == variables)
    #expect(file["worker.retryScheduleSeconds"] == "0.2,3" && file["log.level"] == "debug" && file.count == 5)
    // A variable wins.
    #expect(try stated(#"{"log": {"level": "debug"}}"#, ["COUNTERSIGN_LOG_LEVEL": "error"]) == ["log.level": "error"])
    #expect(try stated(#"{"log": {"level": "debug"}}"#, ["COUNTERSIGN_LOG_LEVEL": "info"]) == [:])
  }

  @Test func `no secret is stated`() throws {
    try folder.write("hidden", to: "password")
    let all = try stated(
      #"""
      {"redis": {"url": "redis://127.0.0.1:1", "passwordFile": "password", "prefix": "x:"},
       "rabbitmq": {"url": "amqp://user:hidden@127.0.0.1:1"},
       "ledger": {"url": "postgresql://user:hidden@127.0.0.1:1/db"},
       "appStore": {"productionURL": "https://hidden.example"},
       "traces": {"url": "http://127.0.0.1:4318/v1/hidden", "authorizationFile": "password"}}
      """#)
    #expect(all["redis.prefix"] == "x:" && all["traces.url"] == "http://127.0.0.1:4318/…")
    #expect(Set(all.keys) == ["redis.prefix", "traces.url"])
    // Each key that the reference calls a secret is left out, whatever its form.
    let (settings, _) = ConfigurationLoader.reference([])
    let secrets = settings.filter(\.isSecret).map(\.key)
    #expect(!secrets.isEmpty && Set(secrets).isDisjoint(with: all.keys))
  }

  @Test(arguments: [
    ("http://host:4318/v1?key=hidden", "http://host:4318/…"), ("https://host", "https://host"),
    ("https://user:hidden@host:1", "https://host:1/…"), ("https://hidden,x@host/a", "https://host/…"),
    ("https://a@b@host#hidden", "https://host/…"), ("https://host\\@hidden", "https://host/…"),
    ("https://one/hidden,http://two?hidden", "https://one/…,http://two/…"), ("://", "://"), ("a,b", "a,b"), ("", ""),
    ("/etc/countersign", "/etc/countersign"),
  ])
  func `of a URL only the server is told`(value: String, told: String) {
    #expect(StatedSetting("key", value, shown: "`none`").value == told)
    #expect(StatedSetting("key", value, shown: "`none`").fallback == "none")
  }
}
