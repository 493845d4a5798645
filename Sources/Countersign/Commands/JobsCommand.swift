import Configuration
import Coordination
import Domain
import Doors
import EventLoop
import Formats
import JSON
import Ledger
import Messaging
import Postgres
import Redis
import Service

/// `countersign jobs`: lists the jobs that wait for their next attempt, or runs them at once.
///
/// Nobody can bury one of them: what was accepted is finalized. A job that kills its workers is given up by itself.
@LoopActor
struct JobsCommand {
  nonisolated static let command = Command(
    name: "jobs", summary: "lists the jobs that wait for their next attempt, shows one, or runs them at once",
    synopsis: "\(JobsOptions.Action.allCases.map(\.rawValue).joined(separator: "|")) --config FILE [OPTION]...",
    actions: JobsOptions.Action.allCases.map(\.rawValue), mostOperands: 1, options: JobsOptions.all, run: run)

  private let options: JobsOptions
  private let configuration: LoadedConfiguration
  private let open: OpenSynchronizations
  /// `nil` if nothing is changed.
  private let audit: OperatorAudit?

  static func run(_ arguments: [String]) async -> Int32 {
    let (options, configuration): (JobsOptions, LoadedConfiguration)
    let ledger: PostgresEndpoint?
    do {
      let (found, rest) = try JobsOptions.read(arguments)
      (options, configuration) = (found, try LoadedConfiguration(rest, command: "jobs"))
      let changes = options.action == .retry && !options.isDryRun
      ledger = try changes ? PostgresEndpoint(configuration.settings.ledger, name: "countersign jobs") : nil
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres: PostgresClient? = if let ledger { await PostgresClient.opened(ledger) } else { nil }
    let redis = await RedisClient.opened(RedisEndpoint(configuration.settings.redis))
    let command = JobsCommand(
      options: options, configuration: configuration,
      open: OpenSynchronizations(redis, prefix: configuration.settings.redis.prefix),
      audit: postgres.map { OperatorAudit($0, name: options.operatorName ?? SystemUser.name) })
    let status = await command.answer(postgres)
    await redis.stop()
    await postgres?.stop()
    return status
  }

  private func answer(_ postgres: PostgresClient?) async -> Int32 {
    let now = unixMilliseconds()
    var filter = options.filter
    // Jobs keep coming. A person who says `retry` means the jobs that are there now.
    if options.action == .retry { filter.registeredUntil = now }
    do {
      if let postgres { try await SchemaCheck(postgres).pass(within: .seconds(30)) }
      let meant = try await meant(filter, at: now)
      var hurried = 0
      if options.action == .retry, !options.isDryRun {
        try await audit?.note("jobs.retried", "jobs", of: meant.kept.map(\.publisherId), filter: filter.json)
        hurried = try await open.hurry(meant.kept)
      }
      say(
        jsonLine { json in
          json.member("matching", Int64(meant.count))
          if meant.isFull { json.member("more", true) }
          if options.action == .retry { json.member("retried", Int64(hurried)) }
        })
      return 0
    } catch {
      complain(error, by: "jobs")
      return 1
    }
  }

  /// Collects the jobs that the command is about; prints them if it only looks.
  private func meant(_ filter: JobFilter, at now: Int64) async throws -> MeantJobs {
    let publishers = configuration.publishers
    func apps(_ publisher: PublisherId) -> Set<BundleId> { Set(publishers[publisher]?.apps.map(\.bundleId) ?? []) }
    let isRetry = options.action == .retry
    var meant = MeantJobs(keeping: isRetry ? most : 0)
    try await open.forEachPage(doors: DoorRegistry.catalog) { page in
      for job in page where filter.matches(job, at: now, apps: apps) && meant.insert(job.name) {
        if !isRetry, meant.count <= most { say(line(of: job, at: now)) }
      }
    }
    return meant
  }

  /// The most jobs that are printed or retried.
  private var most: Int {
    switch options.action {
    case .list: options.limit ?? 100
    case .show: options.limit ?? 1
    case .retry: options.limit ?? .max
    }
  }

  private func line(of open: OpenJob, at now: Int64) -> String {
    jsonLine { json in
      json.member("publisherId", open.job.publisherId.number)
      json.member("synchronizationId", open.job.synchronizationId)
      json.member("transactionId", open.job.transactionId)
      json.member("cause", open.cause?.rawValue)
      json.member("place", open.place)
      json.member("ageSeconds", max(0, now.subtracting(open.job.registeredAt)) / 1000)
      guard options.action == .show else { return }
      let naming = PersonNaming(configuration.settings, isPlain: options.isPlain)
      let job = try? JSONText(open.job.encoded, limits: .own).decoded(as: JSONValue.self)
      json.member("job", json: job?.naming(naming, of: open.job.publisherId).json)
    }
  }
}
