public import Domain
import EventLoop
import Formats
import Redis
import Store

/// Some attempts of a log, the newest first.
public struct AttemptPage: Sendable, Equatable {
  public var attempts: [DeliveryAttempt]
  /// The start of the next page; `nil` when this was the last one.
  ///
  /// A page with a filter may be short, or empty, and still not be the last one.
  public var next: String?

  /// Creates a page.
  public init(attempts: [DeliveryAttempt], next: String?) {
    self.attempts = attempts
    self.next = next
  }
}

extension DeliveryStore {
  /// How many attempts Redis keeps for an endpoint, or up to a hundred more: it drops whole blocks of a stream.
  public nonisolated static let endpointLogLimit = 100_000
  /// How many attempts Redis keeps for an event, or up to a hundred more: ten at each of a hundred endpoints.
  public nonisolated static let eventLogLimit = 1000

  /// Reads the log of an endpoint.
  ///
  /// - Parameters:
  ///   - limit: the most attempts to return.
  ///   - cursor: ``AttemptPage/next`` of the page before; `nil` for the newest. ``isCursor(_:)`` must accept it.
  ///   - outcome: returns only attempts with this outcome.
  public func attempts(
    publisher: Int64, endpoint: String, limit: Int, cursor: String? = nil, outcome: DeliveryAttempt.Outcome? = nil
  ) async throws -> AttemptPage {
    let reply = try await redis.run(
      .readLog, keys: ["logKey": keys.attempts(publisher, endpoint)],
      arguments: [
        "from": cursor.map { "(\($0)" } ?? "+", "limit": String(limit), "outcome": outcome?.rawValue ?? "",
        "logPrefix": "",
      ])
    return try page(reply)
  }

  /// Reads the log of an event, over all endpoints.
  ///
  /// - Parameters: as for an endpoint's log; the cursors of the two are not the same.
  public func attempts(
    publisher: Int64, event: String, limit: Int, cursor: String? = nil, outcome: DeliveryAttempt.Outcome? = nil
  ) async throws -> AttemptPage {
    let reply = try await redis.run(
      .readLog, keys: ["logKey": keys.eventAttempts(publisher, event)],
      arguments: [
        "from": cursor.map { "(\($0)" } ?? "+", "limit": String(limit), "outcome": outcome?.rawValue ?? "",
        "logPrefix": keys.attemptsPrefix(publisher),
      ])
    return try page(reply)
  }

  /// Whether a text that a client sent can be a cursor: two numbers of 1 to 19 digits with a hyphen between them,
  /// the first from 1.
  public nonisolated static func isCursor(_ text: String) -> Bool {
    let words = text.split(separator: "-", omittingEmptySubsequences: false)
    // Redis accepts no interval that begins at 0-0; no entry has a time of 0.
    return words.count == 2 && words[0].first != "0" && words.allSatisfy { $0.isASCIIDigits(1...19) }
  }

  private func page(_ reply: RESPValue) throws -> AttemptPage {
    guard let parts = reply.array, parts.count == 2, let entries = parts[1].array else {
      throw unexpected(reply, "read log")
    }
    let fields = entries.map(\.hash)
    for entry in fields { try RecordVersion.check(entry, key: "an attempt", "read log") }
    return AttemptPage(
      attempts: fields.compactMap(DeliveryAttempt.init),
      next: parts[0].string.flatMap { $0.isEmpty ? nil : $0 })
  }
}

extension DeliveryAttempt {
  /// Reads the fields of an entry of the log; `nil` when one is missing.
  init?(fields: [String: String]) {
    guard let event = fields["event"], let endpoint = fields["endpoint"], let topic = fields["topic"],
      let number = fields["number"].flatMap({ Int($0) }), let time = fields["time"].flatMap({ Int64($0) }),
      let outcome = fields["outcome"].flatMap(Outcome.init)
    else { return nil }
    func text(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
    self.init(
      eventId: event, endpointId: endpoint, topic: topic, version: text("version").flatMap { Int64($0) },
      number: number, time: time, status: text("status").flatMap { Int($0) },
      durationMilliseconds: text("duration").flatMap { Int64($0) } ?? 0, error: text("error"), answer: text("answer"),
      outcome: outcome, nextAt: text("next").flatMap { Int64($0) })
  }

  /// The fields of the entry. Their order is always the same, so Redis stores the names only once.
  var fields: [String] {
    [
      "event", eventId, "endpoint", endpointId, "topic", topic, "version", version.map { String($0) } ?? "", "number",
      String(number), "time", String(time), "status", status.map { String($0) } ?? "", "duration",
      String(durationMilliseconds), "error", error ?? "", "answer", answer ?? "", "outcome", outcome.rawValue, "next",
      nextAt.map { String($0) } ?? "",
    ]
  }
}

extension RedisScript {
  /// Walks a stream backwards.
  ///
  /// An event's stream holds only the places of the attempts. The attempts of a deleted endpoint are gone. The script
  /// looks at a thousand entries at most, so that a rare outcome does not block Redis.
  fileprivate static let readLog = RedisScript(
    "read log", keys: ["logKey"], arguments: ["from", "limit", "outcome", "logPrefix"],
    """
    limit = tonumber(limit)
    local found, seen = {}, 0
    while seen < 1000 do
      local batch = redis.call('XREVRANGE', logKey, from, '-', 'COUNT',
        outcome == '' and math.min(100, limit - #found + 1) or 100)
      if #batch == 0 then return {'', found} end
      for _, entry in ipairs(batch) do
        if #found == limit then return {string.sub(from, 2), found} end
        local fields = entry[2]
        if logPrefix ~= '' then
          local place = {}
          for index = 1, #fields, 2 do place[fields[index]] = fields[index + 1] end
          local there = redis.call('XRANGE', logPrefix .. place['endpoint'], place['id'], place['id'])
          fields = there[1] and there[1][2]
        end
        if fields then
          local isWanted = outcome == ''
          if not isWanted then
            for index = 1, #fields, 2 do
              if fields[index] == 'outcome' then isWanted = fields[index + 1] == outcome end
            end
          end
          if isWanted then found[#found + 1] = fields end
        end
        from = '(' .. entry[1]
        seen = seen + 1
      end
    end
    return {string.sub(from, 2), found}
    """)
}
