import EventLoop
import FoundationEssentials
import Glibc
import HTTP
import HTTPClient
import Testing

/// The simulator as a server: its paths, its files and its log.
struct SimulatorServerTests {
  @Test @LoopActor
  func restartKeepsThePKI() async throws {
    let folder = try RunningSimulator.temporaryFolder()
    var files: [[String: [UInt8]]] = []
    for _ in 1...2 {
      try await RunningSimulator.with(folder: folder) { simulator async throws in
        #expect(try await simulator.transaction("100000000000001").status == 200)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { !$0.hasSuffix("private") }
        files.append(try Dictionary(uniqueKeysWithValues: names.map { ($0, try bytes("\(folder)/\($0)")) }))
      }
    }
    #expect(files[0] == files[1])
    #expect(
      Set(files[0].keys.filter { !$0.hasPrefix("private/") })
        == ["tls-ca.pem", "root.der", "AuthKey_2X9R4HXF34.p8", "AuthKey_7HGF4RXX92.p8"])
    for name in files[0].keys where name.hasPrefix("private/") || name.hasSuffix(".p8") {
      var status = stat()
      #expect(stat("\(folder)/\(name)", &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test @LoopActor
  func otherPathsAndMethodsAreRefused() async throws {
    try await RunningSimulator.with { simulator async throws in
      #expect(try await simulator.status("GET", "/livez") == 200)
      #expect(try await simulator.status("POST", "/livez") == 405)
      #expect(try await simulator.status("GET", "/") == 404)
      #expect(try await simulator.status("GET", "/inApps/v1/transactions/100000000000001") == 404)
      #expect(try await simulator.status("GET", "/production/inApps/v2/transactions/100000000000001") == 404)
      #expect(try await simulator.status("GET", "/production/inApps/v1/transactions/1000/finish") == 404)
      #expect(try await simulator.status("POST", "/production/inApps/v1/transactions/100000000000001") == 405)
      #expect(try await simulator.status("POST", "/production/inApps/v1/notifications/test") == 404)
      #expect(try await simulator.status("GET", "/production/inApps/v1/notifications/test") == 405)
      #expect(try await simulator.status("GET", "/production/inApps/v1/notifications/history") == 405)
      #expect(try await simulator.status("POST", "/production/inApps/v1/transactions/consumption/1001") == 405)
      #expect(try await simulator.status("POST", "/production/inApps/v2/notifications/history") == 404)
      #expect(try await simulator.status("GET", "/sandbox/inApps/v1/transactions/100000000000001?x=1") == 400)
      #expect(try await simulator.status("GET", "/sandbox/inApps/v1/subscriptions/100000000000001?status=1") == 200)
      #expect(try await simulator.status("GET", "/sandbox/inApps/v1/subscriptions/100000000000001?status=9") == 400)
    }
  }

  @Test @LoopActor
  func manyCallsAtOnceAreAnswered() async throws {
    try await RunningSimulator.with { simulator async throws in
      let calls = (0..<300).map { number in
        Task { @LoopActor in try await simulator.transaction("100\(number)").status }
      }
      var statuses: [Int] = []
      for call in calls { statuses.append(try await call.value) }
      #expect(statuses == Array(repeating: 200, count: 300))
      let log = try await simulator.calls()
      #expect(
        log.counts == [.init(environment: "production", endpoint: "transactions", status: 200, count: 300)])
      #expect(Set(log.calls.map(\.transactionId)) == Set((0..<300).map { "100\($0)" }))
    }
  }
}

extension RunningSimulator {
  fileprivate func status(_ method: String, _ path: String) async throws -> Int {
    let headers = [("authorization", "Bearer \(try Token().signed(with: key))"), ("accept", "*/*")]
    return try await client.send(
      HTTPClientRequest(method, url(path), headers: headers, body: method == "POST" ? [] : nil, timeout: .seconds(120))
    ).status
  }

  /// Returns the log of calls.
  func calls() async throws -> CallsBody {
    try await client.send(HTTPClientRequest("GET", url("/simulator/calls"))).decoded(as: CallsBody.self)
  }
}
