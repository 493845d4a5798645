import AMQP
import Configuration
import Domain
import EventLoop
import Formats
import Ledger
import Messaging
import Postgres
import Service

/// `countersign dead`: lists what was given up, and lets it run again or drops it.
///
/// Jobs and deliveries lie in queues of the dead, notifications are put aside in the ledger.
enum DeadCommand {
  static let command = Command(
    name: "dead", summary: "lists what was given up, runs it again, or drops it",
    synopsis: "\(DeadOptions.Action.allCases.map(\.rawValue).joined(separator: "|")) --config FILE [OPTION]...",
    actions: DeadOptions.Action.allCases.map(\.rawValue), mostOperands: 1, options: DeadOptions.all,
    notes: "countersign dead list shows what there is; docs/reference/command-line.md explains the actions.", run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let (options, configuration): (DeadOptions, LoadedConfiguration)
    let ledger: PostgresEndpoint?
    do {
      let (found, rest) = try DeadOptions.read(arguments)
      (options, configuration) = (found, try LoadedConfiguration(rest, command: "dead"))
      ledger = try options.needsLedger ? PostgresEndpoint(configuration.settings.ledger, name: "countersign dead") : nil
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres: PostgresClient? = if let ledger { await PostgresClient.opened(ledger) } else { nil }
    let status = await answer(options, configuration, postgres)
    await postgres?.stop()
    return status
  }

  @LoopActor
  private static func answer(
    _ options: DeadOptions, _ configuration: LoadedConfiguration, _ postgres: PostgresClient?
  ) async -> Int32 {
    do {
      if let postgres { try await SchemaCheck(postgres).pass(within: .seconds(30)) }
      for kind in options.kinds {
        if let queue = kind.queue {
          try await DeadQueueCommand(options, configuration, postgres).run(queue)
        } else if let postgres {
          try await AsideCommand(options, postgres).run()
        }
      }
      return 0
    } catch {
      complain(error, by: "dead")
      return 1
    }
  }
}

extension DeadOptions {
  /// The audit of what the command does; `nil` if it changes nothing.
  @LoopActor
  func audit(_ postgres: PostgresClient?) -> OperatorAudit? {
    guard action.changes, !isDryRun, let postgres else { return nil }
    return OperatorAudit(postgres, name: operatorName ?? SystemUser.name)
  }
}
