import Domain
import EventLoop
import Formats
import JSON
import Ledger
import Messaging
import Postgres

/// What `countersign dead` does to the notifications that are put aside in the ledger.
@LoopActor
struct AsideCommand {
  private let options: DeadOptions
  private let store: NotificationStore
  private let postgres: PostgresClient

  /// The most notifications of one transaction.
  private static let atOnce = 500
  /// The most that a command reads. A notification is put aside after six workers have died, so there are few.
  private static let most = 100_000

  init(_ options: DeadOptions, _ postgres: PostgresClient) {
    (self.options, self.postgres) = (options, postgres)
    store = NotificationStore(postgres)
  }

  func run() async throws {
    let found = try await store.listPutAside(
      NotificationStore.AsideFilter(options.filter, now: unixMilliseconds(), limit: Self.most))
    let some = Array(found.prefix(options.most))
    var changed = 0
    if !options.action.changes {
      for notification in some { say(line(of: notification)) }
    } else if let audit = options.audit(postgres) {
      for start in stride(from: 0, to: some.count, by: Self.atOnce) {
        let keys = some[start..<min(start + Self.atOnce, some.count)].map(\.key)
        let entries = audit.entries(
          "dead.\(options.action.done)", "notifications", of: keys.map(\.publisherId), filter: options.filter.json)
        changed += try await options.action == .retry ? store.bringBack(keys, entries) : store.giveUp(keys, entries)
      }
    }
    say(
      jsonLine { json in
        json.member("kind", "notifications")
        json.member("looked", Int64(found.count))
        json.member("matching", Int64(found.count))
        if options.action.changes { json.member(options.action.done, Int64(changed)) }
      })
  }

  private func line(of notification: NotificationStore.PutAside) -> String {
    jsonLine { json in
      json.member("kind", "notifications")
      json.member("id", notification.key.uuid.text)
      json.member("cause", DeadCause.crashed.rawValue)
      json.member("reason", notification.reason)
      json.member("publisherId", notification.key.publisherId.number)
      json.member("type", notification.type)
      json.member("subtype", notification.subtype)
      json.member("environment", notification.environment)
      json.member("bundleId", notification.bundleId)
      json.member("originalTransactionId", notification.originalTransactionId)
      json.member("buriedAt", rfc3339(milliseconds: notification.time))
      if options.action == .show, options.isPlain {
        json.member("signedPayload", String(decoding: notification.body, as: UTF8.self))
      }
    }
  }
}

extension NotificationStore.AsideFilter {
  /// What a filter says about notifications. All of them have the same cause.
  init(_ filter: DeadFilter, now: Int64, limit: Int) {
    self.init(
      publisher: filter.publisher, app: filter.app, uuid: filter.id.map(NotificationUUID.init(_:)),
      until: filter.olderThan.map { now.subtracting(Int64($0.wholeMilliseconds)).asTime },
      limit: [nil, .crashed].contains(filter.cause) ? limit : 0)
  }
}
