import Configuration
import Formats
import RoleSupport
import Testing
import Transport

/// URLs and addresses of the configuration.
struct SettingsAddressTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test(arguments: [
    ("amqp://h", "h", 5672, "guest", "guest", "/"), ("amqp://h/", "h", 5672, "guest", "guest", "/"),
    ("amqp://h:1/%2F", "h", 1, "guest", "guest", "/"), ("amqp://h/%2Fa%2fb", "h", 5672, "guest", "guest", "/a/b"),
    ("amqp://h/orders", "h", 5672, "guest", "guest", "orders"),
    ("amqp://u:p%40ss%3A%2F@h:5673/v", "h", 5673, "u", "p@ss:/", "v"),
    ("amqp://u:a:b@h", "h", 5672, "u", "a:b", "/"), ("amqp://u:a@b@h", "h", 5672, "u", "a@b", "/"),
    ("amqp://u@h", "h", 5672, "u", "guest", "/"), ("amqp://u:@h", "h", 5672, "u", "", "/"),
    ("amqp://[::1]:5673/v", "::1", 5673, "guest", "guest", "v"),
    ("amqp://[fe80::1]", "fe80::1", 5672, "guest", "guest", "/"),
    ("amqp://u:p@[::1]", "::1", 5672, "u", "p", "/"),
  ])
  func amqp(url: String, host: String, port: Int, user: String, password: String, virtualHost: String) throws {
    let settings = try folder.settings(#"{"rabbitmq": {"url": "\#(url)"}}"#).rabbitmq
    #expect(settings.nodes.map(\.host) == [host])
    #expect(settings.nodes.map(\.port) == [port])
    #expect(settings.user == user)
    #expect(settings.password == password)
    #expect(settings.virtualHost == virtualHost)
  }

  @Test(arguments: [
    "h", "amqp:h", "amqp://", "amqp://:5672", "amqpss://h", "AMQP://h", "amqp://h:0", "amqp://h:65536", "amqp://h:x",
    "amqp://h:", "amqp://h:+5", "amqp://u:%4@h", "amqp://u:%+4@h", "amqp://u:%FF@h", "amqp://h/%zz", "amqp://::1/",
    "amqp://::1:5672/", "amqp://[::1", "amqp://h/v?heartbeat=10", "amqp://h/v#x",
  ])
  func noAMQP(url: String) throws {
    #expect(
      try folder.mistakes(#"{"rabbitmq": {"url": "\#(url)"}}"#)
        == ["countersign.json: rabbitmq.url: expected amqp:// or amqps://user:password@host:port/vhost"])
  }

  @Test(
    arguments: [
      ("redis://h", "h", 6379, nil, nil, 0), ("redis://:p%40ss@h:1/15", "h", 1, nil, "p@ss", 15),
      ("redis://u:p@[::1]:6380/", "::1", 6380, "u", "p", 0),
    ] as [(String, String, Int, String?, String?, Int)])
  func redis(url: String, host: String, port: Int, user: String?, password: String?, database: Int) throws {
    let settings = try folder.settings(#"{"redis": {"url": "\#(url)"}}"#).redis
    #expect(settings.address == ServerAddress(host: host, port: port))
    #expect(settings.user == user)
    #expect(settings.password == password)
    #expect(settings.database == database)
  }

  @Test func `several nodes of RabbitMQ`() throws {
    let settings = try folder.settings(
      #"{"rabbitmq": {"url": "amqps://u:p@a,b:1,[::1]:2/v", "quorumInitialGroupSize": 3}}"#
    ).rabbitmq
    #expect(settings.nodes.map { "\($0.host) \($0.port)" } == ["a 5671", "b 1", "::1 2"])
    #expect(settings.quorumInitialGroupSize == 3)
    #expect(try folder.settings("{}").rabbitmq.quorumInitialGroupSize == nil)
    for url in ["amqp://a,", "amqp://,a", "amqp://a,,b", "amqp://a:0,b", "amqp://a,b:x"] {
      #expect(
        try folder.mistakes(#"{"rabbitmq": {"url": "\#(url)"}}"#)
          == ["countersign.json: rabbitmq.url: expected amqp:// or amqps://user:password@host:port/vhost"])
    }
  }

  @Test func `sentinels of Redis`() throws {
    try folder.write("own", to: "sentinel.password")
    let settings = try folder.settings(
      """
      {"redis": {"url": "rediss+sentinel://u:p@a,b:1/mymaster/2", "sentinelUser": "s",
       "sentinelPasswordFile": "sentinel.password"}}
      """
    ).redis
    #expect(settings.sentinels?.addresses.map { "\($0.host) \($0.port)" } == ["a 26379", "b 1"])
    #expect(settings.sentinels?.primaryName == "mymaster")
    #expect(settings.sentinels?.user == "s")
    #expect(settings.sentinels?.password == "own")
    #expect(settings.user == "u" && settings.password == "p" && settings.database == 2 && settings.tls != nil)
    #expect(try folder.settings(#"{"redis": {"url": "redis+sentinel://a/m"}}"#).redis.database == 0)
    let mistakes = [
      (
        "redis://a,b/0",
        "names several hosts, expected one, or redis+sentinel://host:port,host2:port2/primary/database"
      ),
      ("redis+sentinel://a", "expected the primary's name after the sentinels, such as /mymaster/0"),
      ("redis+sentinel://a/m/x", "expected a database number after the primary's name"),
      ("redis+cluster://a", "expected redis:// or rediss://user:password@host:port/database"),
    ]
    for (url, problem) in mistakes {
      #expect(
        try folder.mistakes(#"{"redis": {"url": "\#(url)"}}"#) == ["countersign.json: redis.url: \(problem)"])
    }
    #expect(
      try folder.mistakes(#"{"redis": {"sentinelPasswordFile": "sentinel.password"}}"#)
        == [
          "countersign.json: redis.sentinelPasswordFile: has no effect without sentinels, expected redis+sentinel:// in "
            + "redis.url"
        ])
  }

  @Test(arguments: ["redis://h/x", "redis://h/-1", "redis://h/+1", "redis://h/1/2", "redis://h/99999999999999999999"])
  func noDatabase(url: String) throws {
    #expect(
      try folder.mistakes(#"{"redis": {"url": "\#(url)"}}"#)
        == ["countersign.json: redis.url: expected a database number after the host"])
  }

  @Test(arguments: ["https://", "https:///path", "http://h", "h", "https://h:0"]) func noAppStore(url: String) throws {
    #expect(
      try folder.mistakes(#"{"appStore": {"sandboxURL": "\#(url)"}}"#)
        == ["countersign.json: appStore.sandboxURL: expected an https:// URL"])
    #expect(
      try folder.mistakes(#"{"appStore": {"productionURL": "https://user:S3CRET@example.com"}}"#)
        == ["countersign.json: appStore.productionURL: expected an https:// URL without a user or a password"])
  }

  @Test(arguments: ["127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "h:80", "[::1]", "[::x]:80"])
  func noListenAddress(text: String) throws {
    #expect(
      try folder.mistakes(#"{"worker": {"listen": "\#(text)"}}"#)
        == [
          "countersign.json: worker.listen: is \"\(text)\", expected address:port with a numeric address, for example "
            + "0.0.0.0:8080"
        ])
  }

  @Test(arguments: ["a:1:i", "a:1:i:k:x", "a::i:k", ":1:i:k", "a:1:b::c", "a:x:i:k", "a:1:i:../k"]) func noSimulatorApp(
    text: String
  )
    throws
  {
    #expect(
      try folder.mistakes(#"{"simulator": {"apps": ["\#(text)"]}}"#)
        == ["countersign.json: simulator.apps: has \"\(text)\", expected bundleId:appAppleId:issuerId:keyId"])
  }
}
