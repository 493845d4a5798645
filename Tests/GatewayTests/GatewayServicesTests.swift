import Domain
import EventLoop
import RoleSupport
import Testing

@testable import Gateway
@testable import Service

/// Every service of a gateway in every state. No server answers it.
@LoopActor
struct GatewayServicesTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  /// Ports on which nobody listens, and any free one for the gateway itself.
  private static let settings = #"""
    {"ledger": {"url": "postgresql://countersign@127.0.0.1:1/countersign"}, "redis": {"url": "redis://127.0.0.1:1"},
     "rabbitmq": {"url": "amqp://127.0.0.1:1"}, "gateway": {"listen": "127.0.0.1:0"}}
    """#

  private func gateway() throws -> Gateway {
    try Gateway(
      RoleContext(
        role: "gateway", settings: try folder.settings(Self.settings), publishers: Publishers([]),
        doors: DoorCatalog([])), doors: [])
  }

  @Test(.timeLimit(.minutes(2)), arguments: ServiceStress.scenarios)
  func `every service takes every order of start, close and stop`(steps: [ServiceStress.Step]) async throws {
    try await ServiceStress.run(try gateway().services.services, steps)
  }

  @Test(.timeLimit(.minutes(2))) func `a gateway starts without its servers, and stops`() async throws {
    let gateway = try gateway()
    try await gateway.start()
    gateway.refresh()
    await gateway.stop(grace: .seconds(1))
    try await gateway.start()
    await gateway.stop(grace: .zero)
  }
}
