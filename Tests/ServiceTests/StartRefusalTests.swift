import AMQP
import EventLoop
import Redis
import TestSupport
import Testing

@testable import Postgres
@testable import Service

/// Which failures of a first connection end a role's start.
@LoopActor
struct StartRefusalTests {
  private func ledger(_ cause: String, _ code: PostgresError.Code = .unreachable) -> StartRefusal? {
    StartRefusal(PostgresError(code, operation: "connect", target: "db:5432", cause: ConnectRefusal.withCode(cause)))
  }

  private func rabbitmq(_ cause: String, _ code: AMQPError.Code = .unreachable) -> StartRefusal? {
    StartRefusal(AMQPError(code, operation: "log in as a to /", target: "mq:5672", cause: cause))
  }

  private func redis(_ cause: String, _ code: RedisError.Code = .reply) -> StartRefusal? {
    StartRefusal(RedisError(code, operation: "AUTH", target: "cache:6379", cause: cause))
  }

  @Test(arguments: [
    #"failed: FATAL:  28P01: password authentication failed for user "a"; LOCATION:  auth_failed, auth.c:338"#,
    #"failed: FATAL:  28000: role "a" does not exist"#, #"failed: FATAL:  3D000: database "a" does not exist"#,
    "failed: fe_sendauth: no password supplied", "failed: SSL error: certificate verify failed",
    #"failed: server certificate for "a" does not match host name "b""#,
    "failed: server does not support SSL, but SSL was required",
    // One of two hosts refuses, and nobody is at the other.
    #"failed: Connection refused; failed: FATAL:  28P01: password authentication failed for user "a""#,
  ])
  func `PostgreSQL refuses for good`(cause: String) throws {
    let refusal = try #require(ledger(cause))
    #expect(refusal.description.hasPrefix("PostgreSQL refuses the connection: connect at db:5432: failed: "))
    #expect(refusal.description.contains("Check user and database in ledger.url, ledger.passwordFile"))
  }

  @Test(arguments: [
    "failed: Connection refused", "no connection in time", "resolve db: Name or service not known",
    "failed: FATAL:  57P03: the database system is starting up", "failed: FATAL:  53300: too many clients already",
    "failed: FATAL:  57P03: the database system is shutting down; failed: FATAL:  28000: no entry for host",
    "commits wait for a synchronous standby, the oldest for 28 s",
  ])
  func `PostgreSQL may take the connection soon`(cause: String) { #expect(ledger(cause) == nil) }

  @Test func `an error of a statement is no refusal of a connection`() {
    #expect(ledger(#"FATAL:  28P01: password authentication failed for user "a""#, .server(sqlState: "28P01")) == nil)
  }

  @Test func `the code moves behind libpq's text, and the place in PostgreSQL's source goes`() {
    #expect(
      ConnectRefusal.withCode(
        #"failed: FATAL:  28P01: wrong "a:  b"; DETAIL:  none; LOCATION:  auth_failed, auth.c:338"#)
        == #"failed: FATAL:  wrong "a:  b" (28P01); DETAIL:  none"#)
    for text in ["", "failed: Connection refused", "a:  b", "a:  28P0", "a:  28p01: b", "a:  28P01", ":  :  :  "] {
      #expect(ConnectRefusal.withCode(text) == text)
    }
  }

  @Test func `a server that takes a user only over TLS leads to caFile`() {
    let plain = #"failed: FATAL:  no pg_hba.conf entry for host "::1", user "a", database "b", no encryption (28000)"#
    let advised =
      plain + "; if the server takes this user only over TLS, set ledger.caFile (it means sslmode=verify-full)"
    #expect(ConnectRefusal.explained(plain, caFile: nil) == advised)
    let old = plain.replacing("no encryption", with: "SSL off")
    #expect(ConnectRefusal.explained(old, caFile: nil).contains("set ledger.caFile"))
    // With a file, or if the server refuses the user over TLS as well, TLS is not what is missing.
    #expect(ConnectRefusal.explained(plain, caFile: "ca.pem") == plain)
    let both = plain.replacing("no encryption", with: "SSL encryption") + "; " + plain
    for text in [both, "failed: Connection refused", ""] {
      #expect(ConnectRefusal.explained(text, caFile: nil) == text)
    }
  }

  @Test(arguments: [
    "403 ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.",
    "530 NOT_ALLOWED - vhost nope not found",
    "530 NOT_ALLOWED - access to vhost '/' refused for user 'a'",
    "self-signed certificate: error:0A000086:SSL routines::certificate verify failed",
    "connect at a:1: Connection refused; log in as a to / at b:1: 403 ACCESS_REFUSED - no",
  ])
  func `RabbitMQ refuses for good`(cause: String) throws {
    let refusal = try #require(rabbitmq(cause))
    #expect(refusal.description.hasPrefix("RabbitMQ refuses the connection: log in as a to / at mq:5672: "))
    #expect(refusal.description.contains("Check user and virtual host in rabbitmq.url"))
  }

  @Test(arguments: [
    "Connection refused", "no answer in time", "541 INTERNAL_ERROR - vhost '/' is down",
    "530 NOT_ALLOWED - access to vhost '/' refused for user 'a': vhost '/' is down",
    "530 NOT_ALLOWED - access to vhost '/' refused for user 'a': connection limit (1) is reached",
  ])
  func `RabbitMQ may take the connection soon`(cause: String) { #expect(rabbitmq(cause) == nil) }

  @Test func `a right that is missing on a channel is no refusal of a connection`() {
    #expect(rabbitmq("403 ACCESS_REFUSED - configure access refused", .channelClosed) == nil)
  }

  @Test(arguments: [
    "WRONGPASS invalid username-password pair or user is disabled.", "NOAUTH Authentication required.",
    "ERR invalid password", "ERR AUTH <password> called without any password configured for the default user.",
    "ERR DB index is out of range", "certificate has expired: error:0A000086:SSL routines::certificate verify failed",
  ])
  func `Redis refuses for good`(cause: String) throws {
    let refusal = try #require(redis(cause))
    #expect(refusal.description.hasPrefix("Redis refuses the connection: AUTH at cache:6379: "))
  }

  @Test(arguments: ["Connection refused", "LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with"])
  func `Redis may take the connection soon`(cause: String) {
    #expect(redis(cause) == nil)
    #expect(redis("NOAUTH ", .connectionLost) == nil)
  }

  @Test func `only the first outcome of each connection ends a start`() async {
    let watch = StartWatch()
    let wrong = RedisError(.reply, operation: "AUTH", target: "cache:6379", cause: "WRONGPASS ")
    let away = RedisError(.unreachable, operation: "connect", target: "cache:6379", cause: "Connection refused")
    var refusals = 0
    for name in ["redis", "publish"] { watch.expect(name) }
    // Nobody watches yet.
    watch.failed("redis", wrong)
    watch.begin { _ in refusals += 1 }
    watch.expect("redis")
    watch.failed("redis", away)
    #expect(refusals == 0)
    watch.failed("publish", wrong)
    #expect(refusals == 1)
    // Both have an outcome, so this does not wait.
    await watch.end(within: .patience)
    watch.failed("redis", wrong)
    #expect(refusals == 1)
  }

  @Test func `a start waits for a connection without an outcome, and not for ever`() async {
    let watch = StartWatch()
    watch.begin { _ in }
    watch.expect("redis")
    await watch.end(within: .milliseconds(1))
    let later = Task { @LoopActor in watch.connected("publish") }
    watch.expect("publish")
    await watch.end(within: .milliseconds(1))
    await later.value
  }
}
