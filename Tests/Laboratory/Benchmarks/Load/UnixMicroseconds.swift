import Glibc

/// The time since 1970 in microseconds: a webhook takes about one millisecond.
func unixMicroseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
}
