import Domain
import EventLoop
import Formats
import Synchronization

/// The fleet's time: this machine's clock, corrected by Redis' clock when it is far off.
///
/// Without the correction, a worker with a wrong clock would send Apple tokens from the future. It would misread the
/// time in a 429, and misjudge a period that ends now. Leases do not need the correction: they live in Redis and
/// follow its clock alone.
public final class FleetClock: Sendable {
  /// The network and the clock itself cause smaller differences.
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

  /// Learns the present time of Redis' clock; forgets a time before 1970 or after 9999.
  ///
  /// - Returns: the new correction in milliseconds if it differs from the last one by more than the tolerance.
  public func learn(_ redis: Int64) -> Int64? {
    // The time comes from outside, and a difference that overflows would end the process.
    guard redis.isTime else { return nil }
    let difference = redis - local()
    let old = correction.load(ordering: .relaxed)
    guard abs(difference - old) > Self.tolerance else { return nil }
    let new = abs(difference) > Self.tolerance ? difference : 0
    correction.store(new, ordering: .relaxed)
    return new
  }
}
