public import EventLoop

/// One role of the fleet, from start to stop.
@LoopActor
public protocol Role: AnyObject {
  /// Starts to work. Returns when everything is under way, not when it is done.
  ///
  /// - Throws: the error that makes the role useless, such as a port in use.
  func start() async throws

  /// Fetches again what the role keeps a copy of. An operator asks for it with SIGHUP.
  func refresh()

  /// Takes no new work, finishes running work within `grace`, hands back the rest, and closes everything.
  func stop(grace: Duration) async
}

extension Role {
  /// Does nothing: most roles keep no copy that could be too old.
  public func refresh() {}
}
