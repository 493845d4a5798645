import EventLoop
import Fleets
import Foundation
import Glibc
import ServerSupport
import TestSupport
import Testing

/// A receiver whose name resolves to a public address first and to this machine afterwards (DNS rebinding).
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct WebhookRebindingTests {
  @Test func `a name that changes its mind is refused at the address that it leads to now`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/countersign-rebinding-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let overrides = [
      "LD_PRELOAD": try await resolver(in: folder), "REBINDING_MARK": folder + "/mark",
      // Only the first address is public, and no server answers there.
      "COUNTERSIGN_NOTIFIER_ALLOWED_NETWORKS": "192.0.2.0/24",
      "COUNTERSIGN_NOTIFIER_CONNECT_TIMEOUT_SECONDS": "1",
      // No attempt comes by itself before the name leads elsewhere.
      "COUNTERSIGN_NOTIFIER_RETRY_SCHEDULE_SECONDS": "3600",
    ]
    try await WebhookReceiver.with { receiver async throws in
      let byName: @LoopActor (RunningFleet) throws -> Void = { try $0.nameEndpoint() }
      let roles = ["gateway-1", "notifier-1"]
      try await RunningFleet.with(roles, overrides: overrides, prepare: byName) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let url = receiver.url("a").replacing("127.0.0.1", with: "rebinding.example")
        let id = try await api.create("\"url\":\"\(url)\"").id
        func errors(_ count: Int) async throws -> [String] {
          var found: [String] = []
          try await eventually("\(count) attempts are logged") {
            let answer = try await api.send("GET", "webhook_endpoints/\(id)/attempts?limit=100")
            found = answer.list("attempts").reversed().map { $0.text("error") ?? "" }
            return found.count >= count
          }
          return found
        }

        #expect(try await api.send("POST", "webhook_endpoints/\(id)/test").status == 202)
        #expect(try await errors(1)[0].contains("no address that is allowed") == false)
        // libcurl keeps an address for a minute; a notifier that has just started has none.
        await fleet.kill("notifier-1")
        #expect(FileManager.default.createFile(atPath: folder + "/mark", contents: nil))
        try fleet.start("notifier-1")
        try await fleet.ready("notifier-1")
        #expect(try await api.send("POST", "webhook_endpoints/\(id)/test").status == 202)
        #expect(try await errors(2)[1].contains("no address that is allowed"))
        #expect(receiver.requests.all.isEmpty)
      }
    }
  }

  /// Builds a library that stands in front of the system's resolver: a file decides the name's address.
  private func resolver(in folder: String) async throws -> String {
    let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <netdb.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
        int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
            dlsym(RTLD_NEXT, "getaddrinfo");
        if (node && strcmp(node, "rebinding.example") == 0)
          node = access(getenv("REBINDING_MARK"), F_OK) == 0 ? "127.0.0.1" : "192.0.2.1";
        return next(node, service, hints, found);
      }
      """
    try source.write(toFile: folder + "/resolver.c", atomically: true, encoding: .utf8)
    let library = folder + "/resolver.so"
    let compiler = try ChildProcess(
      "/usr/bin/env", ["gcc", "-shared", "-fPIC", "-o", library, folder + "/resolver.c", "-ldl"],
      output: folder + "/gcc.log")
    #expect(try await compiler.ended() == 0)
    return library
  }
}
