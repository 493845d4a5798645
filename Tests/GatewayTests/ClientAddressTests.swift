import Configuration
import Domain
import EventLoop
import HTTPServer
import Testing
import Transport

@testable import Gateway
@testable import Service

/// The client's address, as the socket and trusted proxies tell it.
@LoopActor
struct ClientAddressTests {
  private let proxies = ["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"].compactMap { AddressBlock($0) }

  private func client(_ peer: String?, _ fields: String...) -> String? {
    ClientAddress.of(peer: peer, forwardedFor: fields, behind: proxies)
  }

  @Test func `without a listed proxy the field is ignored`() {
    #expect(client("203.0.113.9") == "203.0.113.9")
    #expect(client("203.0.113.9", "198.51.100.1") == "203.0.113.9")
    #expect(client("203.0.113.9", "garbage") == "203.0.113.9")
    #expect(client("2001:DB8:2::1", "198.51.100.1") == "2001:db8:2::1")
    #expect(ClientAddress.of(peer: "10.0.0.1", forwardedFor: ["198.51.100.1"], behind: []) == "10.0.0.1")
  }

  @Test func `a peer that speaks for others and is not listed is told`() {
    func peer(_ origin: RequestOrigin, _ fields: [(name: String, value: String)]) -> String? {
      UnlistedProxies.peer(of: HTTPServerRequest(method: "GET", path: ["x"], headers: fields, origin: origin))
    }
    let stranger = RequestOrigin(peer: "203.0.113.9")
    #expect(peer(stranger, [("X-Forwarded-For", "198.51.100.1")]) == "203.0.113.9")
    #expect(peer(stranger, [("forwarded", "for=198.51.100.1")]) == "203.0.113.9")
    #expect(peer(stranger, [("Forwarded-By", "x")]) == nil)
    #expect(peer(RequestOrigin(proxy: "10.0.0.1", client: "198.51.100.1"), [("X-Forwarded-For", "a")]) == nil)
    #expect(peer(RequestOrigin(proxy: "10.0.0.1", client: nil), [("X-Forwarded-For", "a")]) == nil)
    #expect(peer(RequestOrigin(), [("X-Forwarded-For", "198.51.100.1")]) == nil)
  }

  @Test func `the server takes the proxies of the settings, and all fields of the name in any capitals`() {
    var settings = ConfigurationLoader.defaults([]).gateway
    settings.trustedProxies = proxies
    let configuration = settings.serverConfiguration(
      RouteTable([]),
      asking: GatewaySettings.HeadQuestions(
        authenticator: { Authenticator(publishers: Publishers([]), now: 0) }, refusalOfNotification: { _ in nil },
        onRefusedHead: { _ in }, onRefused: { _, _ in }))
    #expect(configuration.isProxy("10.0.0.1") && !configuration.isProxy("203.0.113.9"))
    let fields = [("x-forwarded-for", "198.51.100.1"), ("X-Forwarded-For", "10.0.0.2"), ("Forwarded", "for=1.1.1.1")]
    #expect(configuration.clientBehindProxy("10.0.0.1", fields) == "198.51.100.1")
  }

  @Test func `a listed proxy names its client`() {
    #expect(client("10.0.0.1", "198.51.100.1") == "198.51.100.1")
    #expect(client("192.0.2.7", "2001:db8:2::1") == "2001:db8:2::1")
    #expect(client("192.0.2.8", "198.51.100.1") == "192.0.2.8")
    #expect(client("2001:db8:1::5", " 198.51.100.1\t") == "198.51.100.1")
  }

  @Test func `the last address that is no proxy counts, whatever the client wrote before it`() {
    #expect(client("10.0.0.1", "198.51.100.1, 203.0.113.9") == "203.0.113.9")
    #expect(client("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.9.9.9, 192.0.2.7") == "203.0.113.9")
    #expect(client("10.0.0.1", "garbage, 203.0.113.9") == "203.0.113.9")
    // Several fields of the name are one list.
    #expect(client("10.0.0.1", "198.51.100.1", "203.0.113.9", "10.1.1.1") == "203.0.113.9")
    #expect(client("10.0.0.1", "198.51.100.1", "", " , 10.1.1.1,") == "198.51.100.1")
  }

  @Test func `if all are proxies, the first one counts`() {
    #expect(client("10.0.0.1") == "10.0.0.1")
    #expect(client("10.0.0.1", "") == "10.0.0.1")
    #expect(client("10.0.0.1", "10.0.0.3, 10.0.0.2") == "10.0.0.3")
  }

  @Test(arguments: [
    "garbage", "198.51.100.256", "unknown", "198.51.100.1:", "198.51.100.1:port", "[::1", "[::1]x", "_x",
  ])
  func `behind garbage nobody knows the client`(text: String) {
    #expect(client("10.0.0.1", text) == nil)
    #expect(client("10.0.0.1", "203.0.113.9, \(text), 10.0.0.2") == nil)
    #expect(client("10.0.0.1", "\(text), 203.0.113.9") == "203.0.113.9")
  }

  @Test func `a port is left out, and a mapped address is the IPv4 address`() {
    #expect(client("10.0.0.1", "198.51.100.1:4711") == "198.51.100.1")
    #expect(client("10.0.0.1", "[2001:db8:2::1]:4711") == "2001:db8:2::1")
    #expect(client("10.0.0.1", "[2001:db8:2::1]") == "2001:db8:2::1")
    #expect(client("10.0.0.1", "::ffff:198.51.100.1") == "198.51.100.1")
    #expect(client("::ffff:10.0.0.1", "198.51.100.1, ::ffff:10.2.2.2") == "198.51.100.1")
    #expect(client("::ffff:203.0.113.9", "198.51.100.1") == "203.0.113.9")
  }

  @Test func `no peer, no address`() {
    #expect(client(nil, "198.51.100.1") == nil)
    #expect(client("", "198.51.100.1") == nil)
  }
}
