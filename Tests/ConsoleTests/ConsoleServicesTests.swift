import Domain
import EventLoop
import RoleSupport
import Testing

@testable import Console
@testable import Service

/// Every service of a console in every state. No server answers it.
@LoopActor
struct ConsoleServicesTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder()
    try folder.write("", to: "users")
  }

  /// Ports on which nobody listens, and any free one for the console itself.
  private static let settings = #"""
    {"ledger": {"url": "postgresql://countersign@127.0.0.1:1/countersign"}, "redis": {"url": "redis://127.0.0.1:1"},
     "rabbitmq": {"url": "amqp://127.0.0.1:1"}, "console": {"listen": "127.0.0.1:0", "usersFile": "users"}}
    """#

  private func console() throws -> Console {
    try Console(
      RoleContext(
        role: "console", settings: try folder.settings(Self.settings), publishers: Publishers([]),
        doors: DoorCatalog([])))
  }

  @Test(.timeLimit(.minutes(2)), arguments: ServiceStress.scenarios)
  func `every service takes every order of start, close and stop`(steps: [ServiceStress.Step]) async throws {
    try await ServiceStress.run(try console().services.services, steps)
  }

  @Test(.timeLimit(.minutes(2))) func `a console starts without its servers, and stops`() async throws {
    let console = try console()
    try await console.start()
    await console.stop(grace: .seconds(1))
    try await console.start()
    await console.stop(grace: .zero)
  }
}
