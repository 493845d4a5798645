import EventLoop
import Glibc

// Runs scenarios against the servers that COUNTERSIGN_TEST_SERVERS names. `ops/chaos` starts the servers and this
// program.
// The main thread only starts: everything runs on the event loop's thread.
let arguments = Array(CommandLine.arguments.dropFirst())
Task { @LoopActor in
  exit(await arguments.first == "lives" ? runLives(Array(arguments.dropFirst())) : runScenarios(arguments))
}
while true { pause() }
