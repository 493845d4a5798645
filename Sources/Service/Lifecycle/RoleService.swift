public import EventLoop

/// A part of a role that starts and stops: a client of a server, a consumer, a chore, the HTTP server.
///
/// A ``ServiceGroup`` starts it once and stops it in two steps. Whoever calls them in another order does no harm: a
/// service that was closed or stopped before its start never starts, and each step has its effect once.
@LoopActor
public protocol RoleService: AnyObject {
  /// Starts to work. Returns when everything is under way, not when it is done.
  ///
  /// - Throws: the error that makes the role useless, such as a port in use.
  func start() async throws

  /// Takes no new work. What runs goes on.
  func close() async

  /// Finishes what runs within a time, hands back the rest, and closes everything.
  func stop(within grace: Duration) async

  /// Its lines of `/readyz`.
  var readiness: [ReadinessCheck] { get }
}

extension RoleService {
  /// No lines: nobody waits for this service.
  public var readiness: [ReadinessCheck] { [] }
}

/// The end of a time that several steps share.
public struct Deadline: Sendable {
  private let end: ContinuousClock.Instant

  /// Begins the time.
  public init(after time: Duration) { end = .now + time }

  /// What is left of it, never negative.
  public var left: Duration { max(.zero, end - .now) }
}
