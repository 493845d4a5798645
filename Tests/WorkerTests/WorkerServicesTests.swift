import Domain
import EventLoop
import RoleSupport
import Testing

@testable import Service
@testable import Worker

/// Every service of a worker in every state. No server answers it.
@LoopActor
struct WorkerServicesTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  /// Ports on which nobody listens, and any free one for the worker itself.
  private static let settings = #"""
    {"ledger": {"url": "postgresql://countersign@127.0.0.1:1/countersign"}, "redis": {"url": "redis://127.0.0.1:1"},
     "rabbitmq": {"url": "amqp://127.0.0.1:1"}, "worker": {"listen": "127.0.0.1:0"}}
    """#

  private func worker() throws -> Worker {
    try Worker(
      RoleContext(
        role: "worker", settings: try folder.settings(Self.settings), publishers: Publishers([]),
        doors: DoorCatalog([])), importVerifier: { _ in throw CancellationError() })
  }

  @Test(.timeLimit(.minutes(2)), arguments: ServiceStress.scenarios)
  func `every service takes every order of start, close and stop`(steps: [ServiceStress.Step]) async throws {
    try await ServiceStress.run(try worker().services.services, steps)
  }

  @Test(.timeLimit(.minutes(2))) func `a worker starts without its servers, and stops`() async throws {
    let worker = try worker()
    try await worker.start()
    await worker.stop(grace: .seconds(1))
    try await worker.start()
    await worker.stop(grace: .zero)
  }
}
