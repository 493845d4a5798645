public import EventLoop

/// The services of a role in their order: each one works with those before it.
///
/// They start in this order, and stop in the reverse order, in two rounds within one deadline. In the first round each
/// takes no new work. In the second round each finishes what runs, and closes. So while a service finishes, everything
/// that it works with still works: a job that ends now is committed, its event is published, and the broker gets its
/// acknowledgement.
@LoopActor
public final class ServiceGroup {
  let services: [any RoleService]
  private var phase = ServicePhase.new
  private var stopping: Task<Void, Never>?

  /// Creates a group. Nothing happens before ``start()``.
  public init(_ services: [any RoleService]) { self.services = services }

  /// Starts one service after the other. A second call does nothing, and ``stop(within:)`` ends it early.
  ///
  /// - Throws: the error of the first service that cannot start. The caller ends the process, or stops the group.
  public func start() async throws {
    guard phase.start() else { return }
    for service in services where phase == .running { try await service.start() }
  }

  /// Stops all services, even if some have not started. A second call waits for the end of the first.
  ///
  /// - Parameter grace: the time for both rounds. A service whose turn comes after it gives up at once what runs.
  public func stop(within grace: Duration) async {
    if phase.stop() {
      let deadline = Deadline(after: grace)
      stopping = Task { @LoopActor [services] in
        for service in services.reversed() { await service.close() }
        for service in services.reversed() { await service.stop(within: deadline.left) }
      }
    }
    await stopping?.value
  }
}
