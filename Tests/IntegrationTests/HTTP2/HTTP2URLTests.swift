import Formats
import Testing

@testable import HTTP2

/// Which URLs the client sends itself, and which parts it reads from them.
struct HTTP2URLTests {
  @Test(
    arguments: [
      ("https://a.example/x/y?z=1", "a.example", "/x/y?z=1", "a.example", 443),
      ("https://a.example", "a.example", "/", "a.example", 443),
      ("https://127.0.0.1:8443/", "127.0.0.1:8443", "/", "127.0.0.1", 8443),
      ("https://[::1]:8443/x", "[::1]:8443", "/x", "::1", 8443),
      ("https://[::1]/x", "[::1]", "/x", "::1", 443),
    ])
  func parts(url: String, authority: String, path: String, host: String, port: Int) throws {
    let parts = try #require(HTTP2URL(url))
    #expect(parts.authority == authority)
    #expect(parts.path == path)
    #expect(parts.address == ServerAddress(host: host, port: port))
  }

  @Test(
    arguments: [
      "http://a.example/", "a.example/x", "https://", "https:///x", "https://a:b@a.example/", "https://a.example/x#y",
      "https://a.example?x", "https://a.example/ä", "https://a.example/x y", "HTTPS://a.example/", "",
    ])
  func leftToLibcurl(url: String) { #expect(HTTP2URL(url) == nil) }

  @Test(arguments: [
    "https://a.example:0/", "https://a.example:99999/", "https://a.example:x/", "https://[::1", "https://:1/",
  ])
  func nowhere(url: String) { #expect(HTTP2URL(url)?.address == nil) }
}
