import AMQP
import Configuration
import Domain
import Doors
import EventLoop
import Formats
import JSON
import Ledger
import Messaging
import Postgres
import Service

/// What `countersign dead` does to one queue of the dead.
@LoopActor
struct DeadQueueCommand {
  private let options: DeadOptions
  private let configuration: LoadedConfiguration
  private let postgres: PostgresClient?

  init(_ options: DeadOptions, _ configuration: LoadedConfiguration, _ postgres: PostgresClient?) {
    (self.options, self.configuration, self.postgres) = (options, configuration, postgres)
  }

  func run(_ kind: DeadMessage.Kind) async throws {
    let work = DeadQueueWork(
      configuration.settings, doors: DoorRegistry.catalog, postgres, name: "countersign dead")
    let audit = options.audit(postgres)
    let now = unixMilliseconds()
    var printed = 0
    let outcome = try await work.run(
      options.action.work, kind, limit: options.action.changes ? options.most : .max, isDryRun: options.isDryRun,
      meant: { try await meant($0, at: now) },
      see: { message, place in
        guard !options.action.changes, printed < options.most else { return }
        printed += 1
        say(line(message, position: place))
      },
      record: { messages in
        try await audit?.note(
          "dead.\(options.action.done)", kind.rawValue, of: messages.map(\.publisherId), filter: options.filter.json)
      })
    say(
      jsonLine { json in
        json.member("kind", kind.rawValue)
        json.member("looked", Int64(outcome.looked))
        json.member("matching", Int64(outcome.matching))
        guard options.action.changes else { return }
        json.member(options.action.done, Int64(options.isDryRun ? 0 : outcome.changed))
        guard !outcome.kept.isEmpty else { return }
        let reasons = outcome.kept.sorted { $0.key.rawValue < $1.key.rawValue }
        json.member("kept", json: JSONWriter.object(reasons.map { ($0.key.rawValue, Array(String($0.value).utf8)) }))
      })
  }

  /// Which of the messages the command is about.
  private func meant(_ messages: [DeadMessage], at now: Int64) async throws -> [Bool] {
    func apps(_ publisher: PublisherId) -> Set<BundleId> {
      Set(configuration.publishers[publisher]?.apps.map(\.bundleId) ?? [])
    }
    let isNamed = messages.map { options.filter.matches($0, at: now, apps: apps) }
    guard options.action == .erase, let postgres else { return isNamed }
    let customers = messages.reduce(into: Set<CustomerKey>()) { $0.formUnion($1.customers) }
    let times = try await CustomerStore(postgres).erasureTimes(customers)
    return zip(messages, isNamed).map { message, isNamed in isNamed && message.isErased { times[$0] } }
  }

  private func line(_ message: DeadMessage, position: Int) -> String {
    let naming = PersonNaming(configuration.settings, isPlain: options.isPlain)
    return jsonLine { json in
      if options.action == .show {
        message.write(to: &json, position: position, naming)
      } else {
        message.writeLine(to: &json, position: position, naming)
      }
    }
  }
}

extension DeadOptions.Action {
  /// What it does to a queue.
  fileprivate var work: DeadQueueWork.Action {
    switch self {
    case .list, .show: .look
    case .retry: .retry
    case .bury, .erase: .drop
    }
  }
}

extension PersonNaming {
  /// Customers are named as in the log, or plainly for a person who asks for it.
  init(_ settings: Settings, isPlain: Bool) {
    self = isPlain ? .plain : PersonNaming(rawValue: settings.logCustomers.rawValue) ?? .hash
  }
}
