import Domain
import EventLoop
import Fleets
import Formats
import Glibc
import HTTP
import Ledger
import ServerSupport
import TestSupport
import Testing

/// All of a publisher over HTTP, from gateways that run.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ExportFleetTests {
  private static let customers = 6000

  /// Runs a fleet whose publishers have so much that no buffer holds an export.
  private func withMuch(_ body: @LoopActor (RunningFleet) async throws -> Void) async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register("100000000012", id: "h1").status == 202)
      _ = try await fleet.finished(["h1"])
      for publisher in [RunningFleet.publisher, RunningFleet.openPublisher] {
        try await fleet.execute(
          """
          INSERT INTO customers (publisher_id, id, is_registered, email)
          SELECT \(publisher), 'c' || n, true, repeat('x', 3000) || n || '@example.com'
          FROM generate_series(1, \(Self.customers)) n
          """)
      }
      try await body(fleet)
    }
  }

  private func export(
    _ fleet: RunningFleet, after cursor: String? = nil, method: String = "GET", of publisher: PublisherId
  ) async throws -> HTTPClientResponse {
    let query = cursor.map { "?after=\(PercentCoding.encoded($0))" } ?? ""
    return try await fleet.send(
      method, fleet.url("/export\(query)"), fleet.headers(publisher), timeout: .seconds(600), atMost: 64 << 20)
  }

  private func ask(_ fleet: RunningFleet, of publisher: PublisherId = RunningFleet.publisher) async throws -> Stranger {
    let port = try #require(fleet.url("").split(separator: ":").last.flatMap { Int($0) })
    let client = try Stranger(to: port)
    client.send("GET /export HTTP/1.1\r\nHost: a\r\nX-Publisher-Token: \(RunningFleet.token(of: publisher))\r\n\r\n")
    return client
  }

  /// The whole lines among the chunks that have arrived.
  private func lines(_ client: Stranger) throws -> [String] {
    var rest = client.received[...]
    rest = rest[try #require(rest.firstRange(of: Array("\r\n\r\n".utf8))).upperBound...]
    var body: [UInt8] = []
    while let line = rest.firstRange(of: [0x0d, 0x0a]) {
      let size = try #require(Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16))
      body += rest[line.upperBound...].prefix(size)
      rest = rest[line.upperBound...].dropFirst(size + 2)
    }
    let whole = body.prefix((body.lastIndex(of: 0x0a) ?? -1) + 1)
    return LineSearch(Array(whole)).all.map(String.init)
  }

  /// What the documentation's `jq` makes of lines without a break.
  private func cursor(_ lines: [String]) throws -> String {
    func part(_ line: String, _ start: String, _ end: String) throws -> Substring {
      let first = try #require(line.firstRange(of: start)).lowerBound
      let last = try #require(line[first...].firstRange(of: end)).upperBound
      return line[first..<last]
    }
    let moment = try part(try #require(lines.first), #""moment":{"#, "}")
    let position = try part(try #require(lines.last), #""kind":"#, "]")
    return #"{\#(moment),"position":{\#(position)},"lines":{"customer":\#(lines.count - 1)}}"#
  }

  private func running(_ count: Double, _ fleet: RunningFleet) async throws {
    try await eventually("\(count) exports run") {
      try await fleet.metric("gateway-1", "countersign_exports_running") == count
    }
  }

  private func ended(_ outcome: String, _ fleet: RunningFleet) async throws -> Double {
    try await fleet.metric("gateway-1", #"countersign_exports_total{outcome="\#(outcome)"}"#)
  }

  @Test func `an export that its client breaks off goes on where its lines end`() async throws {
    try await withMuch { fleet in
      let client = try await ask(fleet)
      try await client.changed.wait(for: "some lines are there") { client.received.count > 1 << 20 }
      client.close()
      let begun = try lines(client)
      #expect(begun.count > 100 && begun.count < Self.customers)
      #expect(begun[0].hasPrefix(#"{"kind":"export","format":1,"publisherId":1001,"moment":{"at":"20"#))
      // The client that has gone keeps no place.
      try await running(0, fleet)
      #expect(try await ended("unread", fleet) == 1)

      try await fleet.execute(
        "UPDATE customers SET email = 'new@example.com' WHERE publisher_id = 1001 AND id = 'c1'")
      let after = try cursor(begun)
      let answer = try await export(fleet, after: after, of: RunningFleet.publisher)
      #expect(answer.status == 200 && answer.header("content-type") == "application/jsonl")
      let more = LineSearch(answer.body).all.map(String.init)
      #expect(more[0].hasPrefix(#"{"kind":"resumed","moment":"#) && more.contains(#"{"kind":"caughtUp"}"#))
      var soFar = ExportedSoFar(publisher: RunningFleet.publisher)
      for line in begun + more { try soFar.take(Array(line.utf8)) }
      #expect(soFar.isWhole && soFar.counts[.purchase] == 1)
      let customers = (begun + more).filter { $0.hasPrefix(#"{"kind":"customer""#) }
      let last = Dictionary(customers.map { ($0.split(separator: "\"", maxSplits: 8)[7], $0) }) { $1 }
      #expect(last.count == Self.customers + 1)
      #expect(last["c1"]?.contains("new@example.com") == true)
      // The last line counts all lines, with those of the client.
      #expect(more.last?.contains(#""customer":\#(customers.count),"#) == true, "\(more.last ?? "")")
      #expect(try await ended("whole", fleet) == 1)
      #expect(
        try await fleet.count("audit WHERE action = 'publisher.exported' AND actor LIKE 'publisher:%'") == 2)

      // What cannot go on.
      try await fleet.execute("INSERT INTO erased_customers VALUES (1001, '\\x01', now())")
      let erased = try await export(fleet, after: after, of: RunningFleet.publisher)
      #expect(erased.status == 410 && String(decoding: erased.body, as: UTF8.self).contains("EXP0001"))
      let other = try await export(
        fleet, after: after.replacing(#""history":""#, with: #""history":"1"#), of: RunningFleet.publisher)
      #expect(other.status == 410 && String(decoding: other.body, as: UTF8.self).contains("EXP0002"))
      #expect(try await export(fleet, after: "x", of: RunningFleet.publisher).status == 400)
      try await running(0, fleet)
    }
  }

  @Test func `who reads nothing holds one place, and the next exports must wait`() async throws {
    try await withMuch { fleet in
      let head = try await export(fleet, method: "HEAD", of: RunningFleet.publisher)
      #expect(head.status == 405 && head.header("allow") == "GET")
      let customer = [(name: "Authorization", value: "Bearer " + jwt(customer: 7, publisher: RunningFleet.publisher))]
      #expect(try await fleet.send("GET", fleet.url("/export"), customer).status == 403)

      let port = try #require(fleet.url("").split(separator: ":").last.flatMap { Int($0) })
      let token = RunningFleet.token(of: RunningFleet.publisher)
      let deaf = try DeafCaller(asking: "GET /export HTTP/1.1\r\nHost: a\r\nX-Publisher-Token: \(token)\r\n\r\n", port)
      try await running(1, fleet)
      let second = try await export(fleet, of: RunningFleet.publisher)
      #expect(second.status == 429 && second.header("retry-after") == "60")
      #expect(String(decoding: second.body, as: UTF8.self).contains("LIM0013"))
      // Another publisher gets the second place, and then there is none.
      let other = try await ask(fleet, of: RunningFleet.openPublisher)
      try await running(2, fleet)
      #expect(try await export(fleet, of: RunningFleet.inactivePublisher).status == 429)
      #expect(try await fleet.metric("gateway-1", #"countersign_limited_total{limit="exports"}"#) == 2)
      // Each of them has a connection that waits for its client, and the gateway answers others.
      try await eventually("the export waits for its client") {
        try await fleet.count(
          """
          pg_stat_activity WHERE application_name = 'countersign gateway export' AND state = 'idle in transaction'
            AND datname = current_database()
          """) > 0
      }
      #expect(try await fleet.putCustomer(9000).status == 201)
      deaf.close()
      other.close()
      try await running(0, fleet)
      #expect(try await ended("unread", fleet) == 2)
      #expect(try await export(fleet, of: RunningFleet.publisher).status == 200)
    }
  }

  @Test func `a gateway that stops breaks its exports off`() async throws {
    try await withMuch { fleet in
      let client = try await ask(fleet)
      try await client.changed.wait(for: "some lines are there") { client.received.count > 1 << 16 }
      fleet.roles["gateway-1"]?.process.send(SIGTERM)
      try await client.changed.wait(for: "the connection ends") { client.hasEnded }
      #expect(!client.received.suffix(5).elementsEqual(Array("0\r\n\r\n".utf8)))
      #expect(try lines(client).last?.hasPrefix(#"{"kind":"end""#) == false)
      #expect(try await fleet.roles["gateway-1"]?.process.ended() == 0)
      client.close()
    }
  }
}

/// A caller that never reads its answer.
private struct DeafCaller {
  private let descriptor: Int32

  init(asking request: String, _ port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let connected = withUnsafeBytes(of: &address) {
      connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
    }
    #expect(connected == 0)
    let bytes = Array(request.utf8)
    #expect(send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  func close() { Glibc.close(descriptor) }
}
