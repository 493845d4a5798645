import Configuration
import Coordination
import Domain
import Doors
import EventLoop
import Formats
import JSON
import Redis
import Service

/// `countersign jobs`: lists the jobs that wait for their next attempt, or runs them at once.
enum JobsCommand {
  static let usage =
    "list|retry --config FILE [--cause CAUSE] [--publisher ID] [--app BUNDLE] [--older-than 90s|15m|2h] [--limit N] "
    + "[--dry-run]"

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let (options, configuration): (JobsOptions, LoadedConfiguration)
    do {
      let (found, rest) = try JobsOptions.read(arguments)
      (options, configuration) = (found, try LoadedConfiguration(rest, command: "jobs"))
    } catch {
      complain("\(error)")
      return 2
    }
    let redis = await RedisClient.opened(RedisEndpoint(configuration.settings.redis))
    let open = OpenSynchronizations(redis, prefix: configuration.settings.redis.prefix)
    let status = await answer(options, open, configuration.publishers)
    await redis.stop()
    return status
  }

  @LoopActor
  private static func answer(
    _ options: JobsOptions, _ open: OpenSynchronizations, _ publishers: Publishers
  ) async -> Int32 {
    let now = unixMilliseconds()
    func apps(_ publisher: Int64) -> Set<BundleId> { Set(publishers[publisher]?.apps.map(\.bundleId) ?? []) }
    var (matching, hurried, listed) = (0, 0, 0)
    do {
      try await open.forEachPage(doors: DoorRegistry.catalog) { page in
        let jobs = page.filter { options.filter.matches($0, at: now, apps: apps) }
        matching += jobs.count
        if options.action == .list {
          for job in jobs.prefix(max(0, options.limit - listed)) { say(line(of: job, at: now)) }
          listed += jobs.count
        } else if !options.isDryRun {
          hurried += try await open.hurry(jobs)
        }
      }
    } catch {
      complain(error, by: "jobs")
      return 1
    }
    say(
      jsonLine { json in
        json.member("matching", Int64(matching))
        if options.action == .retry { json.member("retried", Int64(hurried)) }
      })
    return 0
  }

  static func line(of open: OpenJob, at now: Int64) -> String {
    jsonLine { json in
      json.member("publisherId", open.job.publisherId)
      json.member("synchronizationId", open.job.synchronizationId)
      json.member("transactionId", open.job.transactionId)
      json.member("cause", open.cause?.rawValue)
      json.member("place", open.place)
      json.member("ageSeconds", max(0, now.subtracting(open.job.registeredAt)) / 1000)
    }
  }
}
