import AMQP
import Configuration
import Domain
import EventLoop
import Ledger
import Observability
import Service

/// Tells the entitlements that changed rules of a publisher change.
@LoopActor
struct RulesLook {
  /// Evaluates what has changed, and gives out the events of each commit.
  let evaluate: @LoopActor (@LoopActor (consuming Told) -> Void) async throws -> Void
  let publish: @LoopActor (consuming Told) -> Void
  let log: Log

  /// Looks once.
  func run() async {
    do {
      try await evaluate(publish)
    } catch {
      log.warning("changed rules could not be evaluated to the end", ["cause": .failure(error)])
    }
  }
}

extension RulesLook {
  /// The chore of a worker. It does not look more often than a worker reads the publishers' files.
  static func chore(_ parts: WorkerParts) -> Chore {
    let (context, ledger, publisher) = (parts.context, parts.ledger, parts.publisher)
    let reevaluation = Reevaluation(ledger.postgres, now: { context.now() })
    let look = RulesLook(
      evaluate: { publish in try await reevaluation.run(context.publishers) { publish($0) } },
      publish: { [outlet = parts.outlet] in outlet.publish($0) }, log: context.log)
    // Without the broker its events would wait in the outbox.
    return Chore(
      every: context.settings.worker.sweepInterval, .dropped, isReady: { ledger.isReady && publisher.isReady },
      look: { await look.run() })
  }
}
