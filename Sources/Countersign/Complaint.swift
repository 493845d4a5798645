import Glibc

/// Writes a line to standard error.
func complain(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}
