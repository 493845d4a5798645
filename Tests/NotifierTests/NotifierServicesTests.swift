import Domain
import EventLoop
import RoleSupport
import Testing

@testable import Notifier
@testable import Service

/// Every service of a notifier in every state. No server answers it.
@LoopActor
struct NotifierServicesTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  /// Ports on which nobody listens, and any free one for the notifier itself.
  private static let settings = #"""
    {"ledger": {"url": "postgresql://countersign@127.0.0.1:1/countersign"}, "redis": {"url": "redis://127.0.0.1:1"},
     "rabbitmq": {"url": "amqp://127.0.0.1:1"}, "notifier": {"listen": "127.0.0.1:0"}}
    """#

  private func notifier() throws -> Notifier {
    try Notifier(
      RoleContext(
        role: "notifier", settings: try folder.settings(Self.settings), publishers: Publishers([]),
        doors: DoorCatalog([])))
  }

  @Test(.timeLimit(.minutes(2)), arguments: ServiceStress.scenarios)
  func `every service takes every order of start, close and stop`(steps: [ServiceStress.Step]) async throws {
    try await ServiceStress.run(try notifier().services.services, steps)
  }

  @Test(.timeLimit(.minutes(2))) func `a notifier starts without its servers, and stops`() async throws {
    let notifier = try notifier()
    try await notifier.start()
    await notifier.stop(grace: .seconds(1))
    try await notifier.start()
    await notifier.stop(grace: .zero)
  }
}
