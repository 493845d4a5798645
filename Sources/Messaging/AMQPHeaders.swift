public import AMQP
import Formats

/// The numbers in a message's headers.
///
/// They come from outside: whoever may publish to a queue of ours writes them. A wrong or hostile number must not end
/// the role that reads it. So each number is brought into a range here, in which every sum with it is safe.
extension [String: AMQPValue] {
  /// A count, such as that of attempts. It is at least `least`, also without the header, and at most 1,000,000.
  public func count(_ name: String, least: Int = 0) -> Int {
    Int(Swift.min(Swift.max(self[name]?.int ?? 0, Int64(least)), 1_000_000))
  }

  /// A time in milliseconds since 1970, from 1970 to 9999; `nil` without the header.
  public func time(_ name: String) -> Int64? { self[name]?.int?.asTime }

  /// A span of time in milliseconds, from 0, also without the header, to a year.
  public func milliseconds(_ name: String) -> Int64 {
    Swift.min(Swift.max(self[name]?.int ?? 0, 0), 365 * 86_400_000)
  }
}
