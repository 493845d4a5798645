import EventLoop
import Formats
import Redis
import Testing

/// The text of a host and a port, in errors too.
struct ServerAddressTests {
  @Test(arguments: [("redis", "redis:1"), ("10.0.0.1", "10.0.0.1:1"), ("::1", "[::1]:1"), ("fe80::1", "[fe80::1]:1")])
  func `an IPv6 address has brackets`(host: String, text: String) {
    let address = ServerAddress(host: host, port: 1)
    #expect(address.description == text && RedisEndpoint(address).description == text)
  }

  @Test func `an error names an IPv6 address with brackets, too`() {
    let refused = #expect(throws: ConnectError.self) { _ = try beginConnection(host: "fe80::zz", port: 7) }
    #expect(refused?.target == "[fe80::zz]:7" && refused?.cause == "not a numeric address")
  }

  @LoopActor
  @Test func `so does that of a listener`() {
    let refused = #expect(throws: ListenError.self) { _ = try Listener(host: "fe80::zz", port: 7) { _ in } }
    #expect(refused?.target == "[fe80::zz]:7")
  }

  @Test func `a URL leaves a port to its scheme`() throws {
    let url = try #require(ServerURL("redis://[::1],b:2/0", namesSeveral: true))
    #expect(url.addresses(port: 9).map(\.description) == ["[::1]:9", "b:2"])
    #expect(url.host == "::1" && url.port == nil)
  }
}
