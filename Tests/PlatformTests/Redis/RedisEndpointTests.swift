import Crypto
import Formats
import Testing

@testable import Redis

/// What an endpoint adds to the cause of a connection that never got a reply.
struct RedisEndpointTests {
  @Test func `a connection without TLS leads to rediss, and one with TLS does not`() {
    var endpoint = RedisEndpoint(ServerAddress(host: "cache", port: 6379))
    #expect(
      endpoint.explained("Connection reset by peer")
        == "Connection reset by peer; if this port speaks TLS, use rediss:// or rediss+sentinel:// in the URL")
    endpoint.tls = TLSClientFiles()
    #expect(endpoint.explained("Connection reset by peer") == "Connection reset by peer")
  }
}
