import Domain
import EventLoop
import Redis

/// Takes finalized synchronizations out of Redis: claim, open entry and lease in one step.
///
/// One script takes all of a turn of the loop. A script for a single one costs Redis more for the call than for the
/// work.
@LoopActor
final class FinalizedJobs {
  /// While Redis runs a script, all other clients wait.
  private static let most = 100
  /// How long Redis still says that a synchronization is finalized. Until then the gateway need not ask the ledger
  /// about a repeated registration.
  static let copyLasts: Duration = .seconds(600)

  private let batch: TurnBatch<FinalizedJob, Void>

  init(_ redis: RedisClient, _ keys: Keys) {
    batch = TurnBatch(atMost: Self.most) { jobs in
      _ = try await redis.run(Self.call(jobs, keys))
      return jobs.map { _ in .success(()) }
    }
  }

  /// Returns when Redis has run the script.
  func add(_ job: FinalizedJob) async throws { try await batch.ask(job) }

  private static func call(_ all: [FinalizedJob], _ keys: Keys) -> RedisScript.Call {
    RedisScript.finalize.call(
      keys: ["limitsKey": keys.limits],
      moreKeys: all.flatMap { finalized in
        let job = finalized.job
        return [
          keys.transaction(job.publisherId, job.transactionId),
          keys.synchronization(job.publisherId, job.synchronizationId), keys.claim(job.publisherId, job.transactionId),
          keys.open(job.publisherId, job.customerId), keys.open(job.lane),
        ]
      },
      arguments: [
        "copyLasts": String(copyLasts.wholeMilliseconds), "lineCopyLasts": String(JobCopy.lasts.wholeMilliseconds),
      ],
      moreArguments: all.flatMap { finalized in
        let (job, fresh) = (finalized.job, finalized.fresh)
        return [
          String(finalized.fence), job.claim.encoded, keys.member(job.publisherId, job.synchronizationId),
          finalized.route ?? "", String(fresh?.duration.wholeMilliseconds ?? 0),
          fresh?.purchase.originalTransactionId.text ?? "", fresh?.purchase.environment.text ?? "",
          String((finalized.isKnown ? Leases.routeRetention : copyLasts).wholeMilliseconds),
        ]
      })
  }
}

extension RedisScript {
  /// A record that a newer process wrote stays as it is: that process, or the sweep of one, takes it out.
  fileprivate static let finalize = RedisScript(
    "finalize", functions: [.clock, .readRecord, .writeRecord, .openCounts], keys: ["limitsKey"],
    moreKeys: "firstKey",
    arguments: ["copyLasts", "lineCopyLasts"], moreArguments: "firstArgument",
    """
    local millis = clock()
    local count, closed, open = 0, {}, {}
    local function endLease(key, fence, newRoute, reuse, newOriginal, newEnvironment, life)
      local kept = redis.call('GET', key)
      if not kept or string.match(kept, '^v%d') then return end
      local last, _, freshUntil, original, environment, route = readRecord(kept)
      if last ~= fence then return end
      if newRoute ~= '' then route = newRoute end
      if reuse ~= '0' then freshUntil, original, environment = millis + reuse, newOriginal, newEnvironment end
      redis.call('SET', key, writeRecord(fence, '0', freshUntil, original, environment, route), 'PX', life)
    end
    for number = 0, (#KEYS - firstKey + 1) / 5 - 1 do
      local key, argument = firstKey + 5 * number, firstArgument + 8 * number
      local synchronizationKey, claimKey = KEYS[key + 1], KEYS[key + 2]
      local member = ARGV[argument + 2]
      local state = redis.call('HMGET', synchronizationKey, 'status', 'recordVersion', 'copy')
      if (state[2] or '1') == '1' then
        endLease(KEYS[key], ARGV[argument], ARGV[argument + 3], ARGV[argument + 4], ARGV[argument + 5],
          ARGV[argument + 6], ARGV[argument + 7])
        if state[1] ~= 'finalized' then
          redis.call('SREM', KEYS[key + 3], member)
          if state[1] then
            local publisher = string.match(member, '^%d+')
            closed[publisher] = (closed[publisher] or 0) + 1
          end
        end
        if state[1] then
          redis.call('HSET', synchronizationKey, 'status', 'finalized')
          redis.call('HDEL', synchronizationKey, 'job', 'fence', 'held', 'crashes', 'repeated', 'cause',
            'line', 'copy', 'attempt', 'joined', 'deliveries')
          -- The copy of a job that was in the line must find the end.
          redis.call('PEXPIRE', synchronizationKey, state[3] and math.max(copyLasts, lineCopyLasts) or copyLasts)
        end
        if redis.call('GET', claimKey) == ARGV[argument + 1] then redis.call('DEL', claimKey) end
        local openKey = KEYS[key + 4]
        open[openKey] = open[openKey] or {}
        table.insert(open[openKey], member)
        count = count + 1
      end
    end
    for openKey, members in pairs(open) do redis.call('ZREM', openKey, unpack(members)) end
    for publisher, ended in pairs(closed) do countClosed(limitsKey, publisher, ended) end
    return count
    """)
}
