import EventLoop
import Synchronization

/// The time that the fleet goes by: this machine's clock, corrected by Redis' when it is far off.
///
/// A worker whose clock is wrong would send Apple tokens from the future, misread the time in a 429, and judge a period
/// that ends now by its own idea of now. Leases need none of this: they live in Redis and go by its clock alone.
public final class FleetClock: Sendable {
  /// Smaller differences are the network's, and the clock's own.
  private static let tolerance: Int64 = 2000

  private let local: @Sendable () -> Int64
  private let correction = Atomic<Int64>(0)

  /// Creates a clock over a local one, which tells milliseconds since 1970.
  public init(_ local: @escaping @Sendable () -> Int64) {
    self.local = local
  }

  /// Milliseconds since 1970.
  @Sendable
  public func now() -> Int64 { local() + correction.load(ordering: .relaxed) }

  /// Takes note of what Redis' clock said just now.
  ///
  /// - Returns: the new correction in milliseconds when it is another than before by more than the tolerance.
  public func learn(_ redis: Int64) -> Int64? {
    let difference = redis - local()
    let old = correction.load(ordering: .relaxed)
    guard abs(difference - old) > Self.tolerance else { return nil }
    let new = abs(difference) > Self.tolerance ? difference : 0
    correction.store(new, ordering: .relaxed)
    return new
  }
}
