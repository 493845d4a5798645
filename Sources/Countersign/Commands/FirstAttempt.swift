import EventLoop

/// Starts a client for a command, and returns it after its first attempt to connect.
///
/// Without that, the first use would find no connection yet. If the attempt has failed, the first use says so.
///
/// - Parameter start: makes a client and starts it. The client calls the closure when its connection has changed.
@LoopActor
func afterFirstAttempt<Client>(_ start: @LoopActor (@escaping @LoopActor () -> Void) -> Client) async -> Client {
  let (changes, change) = AsyncStream.makeStream(of: Void.self)
  let client = start { change.yield() }
  for await _ in changes { break }
  return client
}
