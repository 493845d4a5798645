import Crypto
import EventLoop
import Glibc

keepOpenSSLUntilExit()

// The main thread only starts: everything runs on the event loop's thread.
let arguments = Array(CommandLine.arguments.dropFirst())
Task { @LoopActor in exit(await runCommand(arguments)) }
while true { pause() }
