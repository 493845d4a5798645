import EventLoop
import Glibc

// Prints one line of JSON per measured run. `ops/bench` runs it and prints each result next to its floor.
// The main thread only starts: everything runs on the event loop's thread.
let arguments = Arguments(CommandLine.arguments.dropFirst())
Task { @LoopActor in exit(await runBenchmark(arguments)) }
while true { pause() }
