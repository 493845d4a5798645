import EventLoop

/// Knows whether Redis takes writes. After a refusal it tries a write each second, until one succeeds.
///
/// Without it no role would notice the end of the refusal: a role that is not ready gets no requests, so it writes
/// nothing.
@LoopActor
final class WriteProbe {
  /// Why Redis refuses writes now; `nil` if it takes them, as far as the probe knows.
  private(set) var refusal: RedisError?

  private let write: @LoopActor () async throws -> Void
  private let onChange: @LoopActor (RedisError?) -> Void
  private var probing: Task<Void, Never>?

  private static let interval: Duration = .seconds(1)

  /// - Parameters:
  ///   - write: tries a write.
  ///   - onChange: the probe calls it with each new kind of refusal, and with `nil` when a write succeeds again.
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

  /// Forgets the refusal, because the connection has ended.
  func forget() {
    refusal = nil
    probing?.cancel()
    probing = nil
  }

  private func probe() async {
    while true {
      // When the connection ends, it cancels this task, and the sleep and the write fail.
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
