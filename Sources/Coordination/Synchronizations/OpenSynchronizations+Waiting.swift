public import Domain
import EventLoop
import JSON
import Redis

/// The open synchronizations, page by page, and the ones that must not wait any longer.
extension OpenSynchronizations {
  /// A part of the open synchronizations.
  public struct Page: Sendable, Equatable {
    public var jobs: [OpenJob] = []
    /// Where the next page begins; `nil` behind the last one.
    public var next: String?
  }

  /// Reads the open synchronizations of all lanes, page by page. One may come twice: ``MeantJobs`` counts each once.
  ///
  /// - Parameter doors: those of this build. A job that only a newer process can read is left out.
  public func forEachPage(doors: DoorCatalog, _ body: @LoopActor ([OpenJob]) async throws -> Void) async throws {
    for lane in JobLane.allCases {
      var start: String? = "0"
      while let from = start {
        let page = try await page(lane, from: from, doors: doors)
        try await body(page.jobs)
        start = page.next
      }
    }
  }

  /// Reads a page. Over all pages, each synchronization that is open from the first to the last is there once or
  /// twice.
  ///
  /// - Parameters:
  ///   - lane: that of the jobs.
  ///   - start: where the page begins; `0` is the first one.
  ///   - doors: those of this build. A job that only a newer process can read is left out.
  public func page(_ lane: JobLane, from start: String = "0", doors: DoorCatalog) async throws -> Page {
    let reply = try await redis.send(["ZSCAN", keys.open(lane), start, "COUNT", "500"])
    guard let parts = reply.array, parts.count == 2, let next = parts[0].string, let scores = parts[1].array else {
      throw RedisError.unexpected(reply, "list open synchronizations")
    }
    let members = stride(from: 0, to: scores.count - scores.count % 2, by: 2).compactMap { scores[$0].string }
    var page = Page(next: next == "0" ? nil : next)
    guard !members.isEmpty else { return page }
    let rows = try await redis.run(
      .readOpen, keys: ["openKey": keys.open(lane)], arguments: ["prefix": keys.prefix], moreArguments: members)
    for (member, row) in zip(members, rows.array ?? []) {
      let fields = row.array ?? []
      guard let text = fields[at: 0].string, let status = fields[at: 1].string.flatMap(Synchronization.Status.init),
        let job = try? Job(JSONText(Array(text.utf8), limits: .own), doors: doors)
      else { continue }
      let route = fields[at: 3].string.flatMap(AppleRoute.init)
      page.jobs.append(
        OpenJob(
          job: job, status: status, cause: fields[at: 2].string.flatMap(RetryCause.init), place: route?.place,
          member: member))
    }
    return page
  }

  /// Lets the next sweep enqueue jobs that are retrying, instead of waiting for their time.
  ///
  /// - Returns: how many were still retrying.
  public func hurry(_ jobs: [OpenJob]) async throws -> Int {
    try await hurry(jobs.map(\.name))
  }

  /// Lets the next sweep enqueue jobs that are retrying, however many there are. Publishers take turns.
  ///
  /// - Returns: how many were still retrying.
  public func hurry(_ names: [OpenJob.Name]) async throws -> Int {
    var (hurried, turns) = (0, HurriedTurns())
    for start in stride(from: 0, to: names.count, by: Self.hurriedAtOnce) {
      let some = names[start..<min(start + Self.hurriedAtOnce, names.count)]
      let reply = try await redis.run(
        .hurry, keys: [:], moreKeys: some.map { keys.open($0.lane) },
        arguments: ["prefix": keys.synchronizationPrefix],
        moreArguments: some.flatMap {
          [keys.member($0.publisherId, $0.synchronizationId), String(turns.next(of: $0.publisherId))]
        })
      guard let count = reply.integer else { throw RedisError.unexpected(reply, "hurry") }
      hurried += Int(clamping: count)
    }
    return hurried
  }

  /// While Redis runs a script, all others wait.
  private static let hurriedAtOnce = 500
}

extension RedisScript {
  fileprivate static let readOpen = RedisScript(
    "read open", functions: [.newer, .readRecord], keys: ["openKey"], arguments: ["prefix"],
    moreArguments: "firstMember",
    """
    local rows = {}
    for index = firstMember, #ARGV do
      local state = redis.call('HMGET', prefix .. 'sync:' .. ARGV[index], 'job', 'status', 'cause', 'transaction',
        'recordVersion')
      local row = {}
      if state[1] and state[2] and not newer(ARGV[index], state[5]) then
        local publisher = string.match(ARGV[index], '^[^:]*')
        local kept = redis.call('GET', prefix .. 'transaction:' .. publisher .. ':' .. (state[4] or ''))
        local _, _, _, _, _, route = readRecord(kept)
        row = {state[1], state[2], state[3] or '', route or ''}
      end
      rows[#rows + 1] = row
    end
    return rows
    """)

  /// A due time of 1970 says that a person asked: `sweep` knows it by that (``HurriedTurns``).
  fileprivate static let hurry = RedisScript(
    "hurry", keys: [], moreKeys: "firstOpen", arguments: ["prefix"], moreArguments: "firstMember",
    """
    local count = 0
    for number = 0, (#ARGV - firstMember - 1) / 2 do
      local member, turn = ARGV[firstMember + 2 * number], ARGV[firstMember + 2 * number + 1]
      if redis.call('HGET', prefix .. member, 'status') == 'retrying' then
        redis.call('ZADD', KEYS[firstOpen + number], 'XX', turn, member)
        count = count + 1
      end
    end
    return count
    """)
}
