import EventLoop
import Fleets
import FoundationEssentials
import TestSupport
import Testing

/// The help of the commands.
@Suite(.timeLimit(.minutes(10)))
@LoopActor
struct CommandHelpTests {
  @Test(arguments: [
    "gateway", "worker", "notifier", "simulator", "check-config", "verify", "migrate", "rekey",
    "test-notification",
  ])
  func explainsItself(command: String) async throws {
    for arguments in [["--help"], ["--config", "/nowhere", "-h"]] {
      let output = FileManager.default.temporaryDirectory.appending(path: "countersign-help-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: output) }
      let process = try ChildProcess(Repository.products + "/countersign", [command] + arguments, output: output.path)
      let status = try await process.ended()
      let text = String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self)
      #expect(status == 0 && text.hasPrefix("usage: countersign \(command) "), "\(arguments): \(text)")
    }
  }
}
