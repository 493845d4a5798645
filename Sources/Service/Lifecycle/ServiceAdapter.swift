public import AMQP
public import EventLoop

/// Makes a service of what starts and stops otherwise, such as a client of a server.
@LoopActor
public final class ServiceAdapter: RoleService {
  public let readiness: [ReadinessCheck]
  private let onStart: @LoopActor () async throws -> Void
  private let onClose: @LoopActor () async -> Void
  private let onStop: @LoopActor (Duration) async -> Void
  private var phase = ServicePhase.new

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - start: called once, unless the service was closed or stopped before.
  ///   - close: called once, if the service was started.
  ///   - stop: called once, with the time that is left, also if the service was never started.
  public init(
    readiness: [ReadinessCheck] = [], start: @escaping @LoopActor () async throws -> Void = {},
    close: @escaping @LoopActor () async -> Void = {}, stop: @escaping @LoopActor (Duration) async -> Void = { _ in }
  ) {
    (self.readiness, onStart, onClose, onStop) = (readiness, start, close, stop)
  }

  public func start() async throws { if phase.start() { try await onStart() } }
  public func close() async { if phase.close() { await onClose() } }
  public func stop(within grace: Duration) async { if phase.stop() { await onStop(grace) } }
}

extension ServiceAdapter {
  /// A publisher.
  ///
  /// - Parameter name: that of its line of `/readyz`.
  public convenience init(_ publisher: AMQPPublisher, _ name: String) {
    self.init(
      readiness: [ReadinessCheck(name) { publisher.trouble }], start: { publisher.start() },
      stop: { _ in await publisher.stop() })
  }

  /// A consumer. A closed consumer takes no more deliveries. The channel stays until the stop, so that the broker takes
  /// the acknowledgements of what runs.
  ///
  /// - Parameter name: that of its line of `/readyz`; `nil` for none.
  public convenience init(_ consumer: AMQPConsumer, _ name: String? = nil) {
    self.init(
      readiness: name.map { [ReadinessCheck($0) { consumer.trouble }] } ?? [], start: { consumer.start() },
      close: { await consumer.cancel() }, stop: { _ in await consumer.stop() })
  }
}
