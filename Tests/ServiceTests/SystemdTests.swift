import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Service

@Suite @LoopActor
struct SystemdTests {
  private func socket(_ path: String, _ more: [String: String] = [:]) -> SystemdSocket? {
    SystemdSocket(more.merging(["NOTIFY_SOCKET": path]) { $1 }, processId: 7)
  }

  @Test func `the environment names the socket and the patience of systemd`() {
    #expect(SystemdSocket([:], processId: 7) == nil)
    #expect(socket("/run/systemd/notify")?.path == Array("/run/systemd/notify".utf8))
    #expect(socket("@systemd")?.path == [0] + Array("systemd".utf8))
    #expect(socket("/" + String(repeating: "a", count: 106)) != nil)
    for unknown in ["", "/", "run", "vsock:2:1", "/" + String(repeating: "a", count: 107), "/a\0b"] {
      #expect(socket(unknown) == nil, "\(unknown)")
    }
    #expect(socket("/n")?.patience == nil)
    #expect(socket("/n", ["WATCHDOG_USEC": "30000000"])?.patience == .seconds(30))
    #expect(socket("/n", ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"])?.patience == .seconds(30))
    #expect(socket("/n", ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"])?.patience == nil)
    for wrong in ["", "0", "-1", "soon", "99999999999999999999"] {
      #expect(socket("/n", ["WATCHDOG_USEC": wrong])?.patience == nil, "\(wrong)")
    }
  }

  @Test func `systemd hears of the start, of every turn, and of the stop, and nothing while the loop is blocked`()
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.path + "/systemd-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let systemd = try NotifySocket(in: folder)
    defer { systemd.close() }
    let notifier = try #require(SystemdNotifier(["NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "20000"]))
    defer { notifier.close() }
    // Before the start, systemd does not watch.
    #expect(!systemd.holdUpLoop(milliseconds: 0))
    notifier.started()
    try await eventually("two signs of life came") {
      systemd.read()
      return systemd.messages.count { $0 == "WATCHDOG=1" } >= 2
    }
    #expect(systemd.messages.first == "READY=1")
    // Nobody but the loop may send a sign of life. So while this test holds the loop up, none comes.
    systemd.read()
    #expect(!systemd.holdUpLoop(milliseconds: 100))
    let before = systemd.messages.count
    try await eventually("it goes on") {
      systemd.read()
      return systemd.messages.count > before
    }
    notifier.stopping()
    systemd.read()
    #expect(systemd.messages.last == "STOPPING=1")
  }

  @Test func `a systemd that takes no message, and one that is away, change nothing`() async throws {
    let notifier = try #require(SystemdNotifier(["NOTIFY_SOCKET": "/no/such/socket", "WATCHDOG_USEC": "1000"]))
    notifier.started()
    notifier.started()
    notifier.stopping()
    notifier.close()
  }
}
