import AMQP
import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import Messaging
import Postgres
import Redis
import TestSupport
import Testing

/// Everything that a fleet wrote where people may read it, and the search for canaries in it.
@LoopActor
final class CanaryCatch {
  private let fleet: RunningFleet
  /// What was written, each text with its place.
  private(set) var texts: [(place: String, bytes: [UInt8])] = []

  init(_ fleet: RunningFleet) { self.fleet = fleet }

  func add(_ place: String, _ bytes: [UInt8]) { if !bytes.isEmpty { texts.append((place, bytes)) } }
  func add(_ place: String, _ text: String) { add(place, Array(text.utf8)) }

  /// Sends a request, and keeps the answer: its headers and its body.
  @discardableResult
  func send(
    _ method: String, _ path: String, _ headers: [(name: String, value: String)], _ body: String? = nil
  ) async throws -> HTTPClientResponse {
    let answer = try await fleet.send(
      method, fleet.url(path), headers + [("Content-Type", "application/json")], body)
    add("answer to \(method) \(path.prefix { $0 != "?" }) (\(answer.status))", answer.body)
    for header in answer.headers { add("header of \(path.prefix { $0 != "?" })", "\(header.name): \(header.value)") }
    return answer
  }

  /// Reads what the live roles show.
  func readRoles(_ names: [String]) async throws {
    for name in names {
      guard let address = fleet.roles[name]?.address, !address.isEmpty else { continue }
      for path in ["/metrics", "/readyz", "/livez"] {
        add(name + path, try await fleet.send("GET", "http://\(address)\(path)").body)
      }
    }
  }

  /// Reads every log of the fleet's folder.
  func readLogs() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: fleet.folder) where name.hasSuffix(".log") {
      add(name, Array(try Data(contentsOf: URL(filePath: fleet.folder + "/" + name))))
    }
  }

  /// Reads every row of the ledger; `bytea` is hexadecimal there.
  func readLedger() async throws {
    let endpoint = try PostgresEndpoint(
      url: TestServers.current!.ledgerURL(database: fleet.database), password: nil, caFile: nil)
    let client = PostgresClient(endpoint, connections: 1)
    client.start()
    try await eventually("the ledger can be read") { client.isReady }
    let tables = try await client.run(
      PostgresQuery(
        PostgresStatement(
          "tables of the ledger",
          "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')")))
    for table in try tables.compactMap({ try $0.text("relname") }) {
      let rows = try await client.run(
        PostgresQuery(
          PostgresStatement("all of \(table)".prefix(60).description, "SELECT t::text AS row FROM \(table) t")))
      for row in rows { add("table \(table)", try row.text("row") ?? "") }
    }
    await client.stop()
  }

  /// Reads every key of the fleet in Redis.
  func readRedis() async throws {
    let script = """
      local found = {}
      for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
        local kind = redis.call('TYPE', key).ok
        local value
        if kind == 'string' then value = redis.call('GET', key)
        elseif kind == 'hash' then value = table.concat(redis.call('HGETALL', key), ' ')
        elseif kind == 'set' then value = table.concat(redis.call('SMEMBERS', key), ' ')
        elseif kind == 'zset' then value = table.concat(redis.call('ZRANGE', key, 0, -1), ' ')
        elseif kind == 'list' then value = table.concat(redis.call('LRANGE', key, 0, -1), ' ')
        else value = kind end
        found[#found + 1] = key .. ' ' .. value
      end
      return found
      """
    let redis = try await RedisConnection.open(TestServers.current!.redis)
    let found = try await redis.send(["EVAL", script, "0", fleet.prefix + ":*"])
    redis.close()
    for value in found.array ?? [] { add("Redis", value.string ?? "") }
  }

  /// Takes the messages of a queue as they come: headers and bodies.
  func follow(_ queue: String, binding: (@LoopActor (AMQPChannel) async throws -> Void)? = nil) -> AMQPConsumer {
    let consumer = AMQPConsumer(
      { TestServers.current!.rabbitmq }, name: "canaries", queue: queue, prefetch: 100, onChange: { _ in },
      declare: { try await binding?($0) },
      handler: { [weak self] received in
        let delivery = received.delivery
        self?.add("message of \(queue)", delivery.body)
        self?.add("headers of \(queue)", "\(delivery.properties)")
        received.acknowledge()
      })
    consumer.start()
    return consumer
  }

  /// Whether a place has a text.
  func has(_ text: String, in place: String) -> Bool {
    let wanted = Canary("", text: text)
    return texts.contains { $0.place == place && wanted.found(in: $0.bytes) == "plain" }
  }

  /// The canaries that were found, one line for each canary and place.
  func findings(_ canaries: [Canary]) -> [String] {
    var lines: Set<String> = []
    for (place, bytes) in texts {
      for canary in canaries {
        guard let form = canary.found(in: bytes) else { continue }
        // Which line of a log it is helps most; the canary itself is of no use to anybody.
        let line =
          bytes.split(separator: UInt8(ascii: "\n")).first { canary.found(in: Array($0)) != nil } ?? bytes[...]
        lines.insert(
          "\(canary.name) as \(form) in \(place): \(String(decoding: line.prefix(400), as: UTF8.self))")
      }
    }
    return lines.sorted()
  }
}
