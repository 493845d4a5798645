// CUV also declares the times of the system. Glibc's own module shows them only by accident.
import CUV
import Glibc

/// Returns the system's time in milliseconds since 1970.
@Sendable
public func unixMilliseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}
