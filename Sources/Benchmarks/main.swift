import Glibc

// Prints one line of JSON per measured run; `ops/bench` runs it, next to the floor it is compared with.
let arguments = CommandLine.arguments

/// Returns the number behind an option.
func number(_ name: String, default value: Double) -> Double {
  guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return value }
  return Double(arguments[index + 1]) ?? value
}

do {
  guard arguments.count > 1, arguments[1] == "verify" else {
    throw Unexpected(description: "usage: benchmarks verify [--seconds S] [--count N]")
  }
  let result = try VerifyBenchmark().run(
    seconds: number("--seconds", default: 3), count: Int(number("--count", default: 1e12)))
  print("{" + result.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}")
} catch {
  let text = "benchmarks: \(error)\n"
  _ = write(STDERR_FILENO, text, text.utf8.count)
  exit(1)
}
