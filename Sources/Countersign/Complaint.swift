import Glibc

/// Writes a line to standard error.
func complain(_ line: String) { put(line, to: STDERR_FILENO) }

/// Writes a line to standard output at once, also into a file or a pipe.
func say(_ line: String) { put(line, to: STDOUT_FILENO) }

private func put(_ line: String, to descriptor: Int32) {
  let bytes = Array((line + "\n").utf8)
  _ = write(descriptor, bytes, bytes.count)
}
