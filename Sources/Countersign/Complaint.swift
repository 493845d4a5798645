import Glibc
import JSON
import Service

/// Writes a line to standard error.
func complain(_ line: String) { put(line, to: STDERR_FILENO) }

/// Tells on standard error why a command ends. A server that refuses its account is told with what to look at.
func complain(_ error: any Error, by command: String) {
  complain("countersign \(command): \(StartRefusal(error)?.description ?? "\(error)")")
}

/// Writes a line to standard output at once, also into a file or a pipe.
func say(_ line: String) { put(line, to: STDOUT_FILENO) }

private func put(_ line: String, to descriptor: Int32) {
  let bytes = Array((line + "\n").utf8)
  _ = write(descriptor, bytes, bytes.count)
}

/// Returns a line with a JSON object, for commands that list.
func jsonLine(_ members: (inout JSONWriter) -> Void) -> String {
  String(decoding: JSONWriter.object { members(&$0) }, as: UTF8.self)
}
