import EventLoop

/// Knows whether Redis takes writes: after a refusal it tries one each second, until one succeeds.
///
/// Without it nobody would learn of the end: a role that is not ready gets no requests, so it writes nothing.
@LoopActor
final class WriteProbe {
  /// Why writes are refused now; `nil` while they are not, as far as is known.
  private(set) var refusal: RedisError?

  private let write: @LoopActor () async throws -> Void
  private let onChange: @LoopActor (RedisError?) -> Void
  private var probing: Task<Void, Never>?

  private static let interval: Duration = .seconds(1)

  /// - Parameters:
  ///   - write: tries a write.
  ///   - onChange: called with each new kind of refusal, and with `nil` when a write has succeeded again.
  init(
    write: @escaping @LoopActor () async throws -> Void, onChange: @escaping @LoopActor (RedisError?) -> Void
  ) {
    self.write = write
    self.onChange = onChange
  }

  /// Notes a refusal.
  func refused(_ error: RedisError) {
    let isNew = refusal?.refusal != error.refusal
    refusal = error
    if probing == nil { probing = Task { @LoopActor in await probe() } }
    if isNew { onChange(error) }
  }

  /// Forgets what is known, because the connection has ended.
  func forget() {
    refusal = nil
    probing?.cancel()
    probing = nil
  }

  private func probe() async {
    while true {
      // Sleep and write fail when the connection ends, which cancels this task.
      do {
        try await EventLoop.sleep(for: Self.interval)
        try await write()
      } catch {
        if Task.isCancelled { return }
        continue
      }
      guard !Task.isCancelled else { return }
      (refusal, probing) = (nil, nil)
      return onChange(nil)
    }
  }
}
