package import EventLoop
package import Service

/// Starts and stops services in every state in which a role may be asked to. It finds one that hangs, that traps, or
/// that throws where nothing is wrong; after the test nothing of it runs.
@LoopActor
package enum ServiceStress {
  /// What a role may do with a service.
  package enum Step: String, Sendable {
    case start, close, stop
    /// A start that the next step does not wait for.
    case beginStart
  }

  /// The states that a service may be in when something is asked of it.
  package nonisolated static let scenarios: [[Step]] = [
    [.start, .close, .stop],
    [.start, .start, .stop],
    [.stop, .start, .stop],
    [.close, .start, .stop],
    [.start, .stop, .stop],
    [.start, .stop, .start, .stop],
    [.start, .close, .close, .start, .stop],
    [.beginStart, .stop],
    [.beginStart, .close, .stop],
    [.beginStart, .beginStart, .stop, .start],
  ]

  /// Does the steps with all services at once: some of them wait for a server for seconds.
  package static func run(_ services: [any RoleService], _ steps: [Step]) async throws {
    let running = services.map { service in Task { @LoopActor in try await run(service, steps) } }
    for task in running { try await task.value }
  }

  /// Does the steps, one after the other.
  private static func run(_ service: any RoleService, _ steps: [Step]) async throws {
    var starting: [Task<Void, any Error>] = []
    for step in steps {
      switch step {
      case .start: try await service.start()
      case .close: await service.close()
      case .stop: await service.stop(within: .zero)
      case .beginStart:
        starting.append(Task { @LoopActor in try await service.start() })
        await Task.yield()
      }
    }
    for task in starting { try await task.value }
    await service.stop(within: .zero)
  }
}
