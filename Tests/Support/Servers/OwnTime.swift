import Glibc

/// How long a test took by itself. The time of Swift Testing counts its wait for a place among the fleets, too.
public enum OwnTime {
  /// Prints a line, of which `ops/test` makes a table.
  public static func tell(_ what: String, since start: ContinuousClock.Instant) {
    print("own time: \(Int((ContinuousClock.now - start) / .milliseconds(1))) ms of \(what)")
    // The lines of Swift Testing go past this buffer.
    fflush(nil)
  }
}
