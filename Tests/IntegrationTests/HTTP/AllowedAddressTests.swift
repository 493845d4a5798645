import EventLoop
import Fleets
import HTTP
import HTTPClient
import HTTPServer
import Synchronization
import Testing
import Transport

/// The client opens a socket only to an address that is allowed at that moment, whatever the name said before.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct AllowedAddressTests {
  /// The client's question for each address.
  private struct Allows {
    let address: @Sendable ([UInt8]) -> Bool

    static let all = Allows { _ in true }

    static func policy(_ policy: AddressPolicy) -> Allows {
      Allows { NetworkAddress(bytes: $0).map(policy.allows) ?? false }
    }
  }

  private func with(
    _ allows: Allows,
    _ body: @LoopActor (HTTPClient, HTTPServer) async throws -> Void
  ) async throws {
    let handler: HTTPServer.Handler = { _ in .text(200, String(repeating: "x", count: 1000)) }
    try await HTTPServer.running(handler: handler) { server async throws in
      var configuration = HTTPClientConfiguration.patient
      configuration.allowsPlainHTTP = true
      configuration.keepsConnections = false
      configuration.allowsAddress = allows.address
      let client = HTTPClient(configuration)
      defer { client.close() }
      try await body(client, server)
    }
  }

  /// The host as an address, as a name for it, and in the odd forms that resolvers accept for one.
  @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"])
  func `what leads to this machine is refused`(host: String) async throws {
    let policy = AddressPolicy()
    try await with(.policy(policy)) { (client, server) async throws in
      do {
        _ = try await client.send(HTTPClientRequest("GET", "http://\(host):\(server.port)/"))
        Issue.record("it was sent")
      } catch let error as HTTPClientError {
        #expect(error.code == .forbiddenAddress, "\(error)")
        #expect(error.cause.contains("no address that is allowed"))
      }
    }
  }

  @Test func `an allowed block lets through`() async throws {
    let policy = AddressPolicy(allowing: [try #require(AddressBlock("127.0.0.0/8"))])
    try await with(.policy(policy)) { (client, server) async throws in
      // A name with two addresses; the policy may refuse one of them.
      for host in ["127.0.0.1", "localhost"] {
        #expect(try await client.send(HTTPClientRequest("GET", "http://\(host):\(server.port)/")).status == 200)
      }
    }
  }

  @Test func `a name that leads elsewhere the second time is refused the second time`() async throws {
    let asked = Atomic(0)
    let once = Allows { _ in asked.add(1, ordering: .relaxed).newValue == 1 }
    try await with(once) { (client, server) async throws in
      let request = HTTPClientRequest("GET", "http://127.0.0.1:\(server.port)/")
      #expect(try await client.send(request).status == 200)
      let error = await #expect(throws: HTTPClientError.self) { _ = try await client.send(request) }
      #expect(error?.code == .forbiddenAddress)
    }
    #expect(asked.load(ordering: .relaxed) == 2)
  }

  @Test func `an answer can be cut off at the limit`() async throws {
    try await with(.all) { (client, server) async throws in
      var request = HTTPClientRequest("GET", "http://127.0.0.1:\(server.port)/")
      request.maxResponseBytes = 10
      let error = await #expect(throws: HTTPClientError.self) { _ = try await client.send(request) }
      #expect(error?.code == .responseTooLarge)
      request.cutsLongResponse = true
      let answer = try await client.send(request)
      #expect(answer.status == 200)
      #expect(answer.body == Array("xxxxxxxxxx".utf8))
    }
  }

  @Test func `a certificate that nobody knows is taken only when asked for`() async throws {
    try await RunningSimulator.with { simulator async throws in
      let client = HTTPClient(.patient)
      var request = HTTPClientRequest("GET", simulator.url("/simulator/calls"))
      let error = await #expect(throws: HTTPClientError.self) { _ = try await client.send(request) }
      #expect(error?.code == .tls)
      request.trustsAnyCertificate = true
      #expect(try await client.send(request).status == 200)
      // The connection that is open now does not serve a request that demands a known certificate.
      request.trustsAnyCertificate = false
      let again = await #expect(throws: HTTPClientError.self) { _ = try await client.send(request) }
      #expect(again?.code == .tls)
      client.close()
    }
  }
}
