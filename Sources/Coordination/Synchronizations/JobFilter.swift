public import Domain
import EventLoop
import Formats
import JSON

/// Which of the jobs that wait a person means, by value.
public struct JobFilter: Sendable, Equatable {
  /// Why it is retrying.
  public var cause: RetryCause?
  public var publisher: PublisherId?
  /// The bundle id of an app.
  public var app: BundleId?
  /// The id of a synchronization.
  public var synchronization: SynchronizationId?
  /// Only jobs that were registered at least so long ago.
  public var olderThan: Duration?
  /// Only jobs that were registered until then, in milliseconds since 1970: a person who saw a count means the jobs in
  /// it.
  public var registeredUntil: Int64?

  /// Creates a filter that takes all jobs that are retrying.
  public init() {}

  /// Whether a job is one of those.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - apps: the bundle ids of a publisher's apps. They count while no run has found out which one it is.
  public func matches(_ open: OpenJob, at now: Int64, apps: (PublisherId) -> Set<BundleId>) -> Bool {
    guard open.status == .retrying else { return false }
    if let cause, open.cause != cause { return false }
    if let publisher, open.job.publisherId != publisher { return false }
    if let registeredUntil, open.job.registeredAt > registeredUntil { return false }
    if let synchronization, open.job.synchronizationId != synchronization { return false }
    if let olderThan {
      let (age, isFar) = now.subtractingReportingOverflow(open.job.registeredAt)
      if isFar || .milliseconds(max(0, age)) < olderThan { return false }
    }
    guard let app else { return true }
    if let place = open.place, !place.text.isEmpty {
      return place.text.utf8.prefix { $0 != UInt8(ascii: "|") }.elementsEqual(app.text.utf8)
    }
    return apps(open.job.publisherId).contains(app)
  }

  /// The filter as JSON, for the audit log.
  public var json: [UInt8] {
    JSONWriter.object { json in
      json.member("app", app)
      json.member("cause", cause?.rawValue)
      json.member("id", synchronization)
      json.member("olderThanSeconds", olderThan.map { Int64($0.wholeMilliseconds) / 1000 })
      json.member("publisher", publisher?.number)
      json.member("registeredUntil", registeredUntil.map { rfc3339(milliseconds: $0) })
    }
  }
}
