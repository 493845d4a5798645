import Configuration
import Crypto
import Formats
import RoleSupport
import Testing

/// TLS to RabbitMQ and Redis.
struct TLSSettingsTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  @Test func `the schemes choose TLS and its ports`() throws {
    let plain = try folder.settings()
    #expect(plain.rabbitmq.tls == nil && plain.redis.tls == nil)
    let encrypted = try folder.settings(
      #"{"rabbitmq": {"url": "amqps://u:p@rabbitmq/v"}, "redis": {"url": "rediss://u:p@redis/3"}}"#)
    #expect(encrypted.rabbitmq.tls == TLSClientFiles() && encrypted.rabbitmq.nodes[0].port == 5671)
    #expect(encrypted.redis.tls == TLSClientFiles() && encrypted.redis.address.port == 6380)
    #expect(encrypted.redis.user == "u" && encrypted.redis.password == "p" && encrypted.redis.database == 3)
    #expect(!encrypted.rabbitmq.logsInByCertificate)
    let ports = try folder.settings(#"{"rabbitmq": {"url": "amqps://h:1"}, "redis": {"url": "rediss://h:2"}}"#)
    #expect(ports.rabbitmq.nodes[0].port == 1 && ports.redis.address.port == 2)
  }

  @Test func `a URL without TLS on the usual port with TLS is a warning`() throws {
    #expect(try folder.settings().plainPorts == [])
    let plain = try folder.settings(
      #"{"rabbitmq": {"url": "amqp://a,b:5671/v"}, "redis": {"url": "redis://h:6380/0"}}"#)
    #expect(
      plain.plainPorts == [
        "rabbitmq.url: port 5671 is RabbitMQ's usual port with TLS; if it speaks TLS, use amqps://",
        "redis.url: port 6380 is Redis' usual port with TLS; if it speaks TLS, use rediss://",
      ])
    for text in [
      #"{"rabbitmq": {"url": "amqps://a:5671"}, "redis": {"url": "rediss://h:6380"}}"#,
      #"{"rabbitmq": {"url": "amqp://a:6380"}, "redis": {"url": "redis+sentinel://h:6380/p/0"}}"#,
    ] { #expect(try folder.settings(text).plainPorts == []) }
  }

  @Test func `paths are relative to the file`() throws {
    let settings = try folder.settings(
      """
      {"rabbitmq": {"url": "amqps://h", "caFile": "ca.pem"},
       "redis": {"url": "rediss://h", "certificateFile": "own.pem", "privateKeyFile": "/own.key"}}
      """)
    #expect(settings.rabbitmq.tls == TLSClientFiles(caFile: folder.path + "/ca.pem"))
    #expect(
      settings.redis.tls
        == TLSClientFiles(certificateFile: folder.path + "/own.pem", privateKeyFile: "/own.key"))
  }

  @Test(arguments: [("h", true), ("u@h", false), ("u:p@h", false)])
  func `a certificate logs in where the URL names no user`(authority: String, isExternal: Bool) throws {
    let settings = try folder.settings(
      """
      {"rabbitmq": {"url": "amqps://\(authority)", "certificateFile": "own.pem", "privateKeyFile": "own.key"}}
      """)
    #expect(settings.rabbitmq.logsInByCertificate == isExternal)
  }

  @Test func `files without TLS, halves and a second log-in are mistakes`() throws {
    try folder.write("secret", to: "password")
    #expect(
      try folder.mistakes(
        """
        {"rabbitmq": {"caFile": "ca.pem", "certificateFile": "own.pem"}, "redis": {"privateKeyFile": "own.key"}}
        """) == [
          "countersign.json: rabbitmq.caFile: has no effect without TLS, expected amqps:// in rabbitmq.url",
          "countersign.json: rabbitmq.certificateFile: has no effect without TLS, expected amqps:// in rabbitmq.url",
          "countersign.json: redis.privateKeyFile: has no effect without TLS, expected rediss:// in redis.url",
        ])
    #expect(
      try folder.mistakes(
        """
        {"rabbitmq": {"url": "amqps://h", "certificateFile": "own.pem"},
         "redis": {"url": "rediss://h", "privateKeyFile": "own.key"}}
        """) == [
          "countersign.json: rabbitmq.certificateFile: needs rabbitmq.privateKeyFile beside it",
          "countersign.json: redis.privateKeyFile: needs redis.certificateFile beside it",
        ])
    let both = try folder.mistakes(
      """
      {"rabbitmq": {"url": "amqps://h", "certificateFile": "a", "privateKeyFile": "b", "passwordFile": "password"}}
      """)
    #expect(both.count == 1 && both[0].contains("the certificate logs in"))
  }

  @Test func `roles refuse files that are of no use`() throws {
    let authority = try CertificateAuthority.root(commonName: "Authority", curve: .p256)
    let (key, other) = (try IssuingKey.generate(.p256), try IssuingKey.generate(.p256))
    let profile = CertificateProfile(commonName: "guest", use: .tlsClient)
    try folder.write(authority.certificate.pem, to: "ca.pem")
    try folder.write(try authority.issue(profile, for: key).pem, to: "own.pem")
    try folder.write(key.pem, to: "own.key")
    try folder.write(other.pem, to: "other.key")
    try folder.write("no certificate", to: "text.pem")
    func mistakes(_ ca: String, _ certificate: String, _ key: String, for user: SettingsUser) throws -> [String] {
      try folder.mistakes(
        """
        {"ledger": {"url": "postgresql://u@h/d"},
         "redis": {"url": "rediss://h", "caFile": "\(ca)", "certificateFile": "\(certificate)",
                   "privateKeyFile": "\(key)"}}
        """, for: [user])
    }
    #expect(try mistakes("ca.pem", "own.pem", "own.key", for: .gateway) == [])
    #expect(
      try mistakes("none.pem", "own.pem", "own.key", for: .worker) == [
        "countersign.json: redis.caFile: the file none.pem cannot be read: there is no such file"
      ])
    let text = try mistakes("ca.pem", "text.pem", "own.key", for: .notifier)
    #expect(text.count == 1 && text[0].contains("could not read the certificate in text.pem"))
    let stranger = try mistakes("ca.pem", "own.pem", "other.key", for: .gateway)
    #expect(stranger.count == 1 && stranger[0].contains("key values mismatch"))
    // It uses neither server.
    #expect(try mistakes("none.pem", "text.pem", "own.key", for: .migrate) == [])
  }
}
