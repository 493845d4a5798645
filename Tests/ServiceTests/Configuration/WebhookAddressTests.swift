import Testing
import Transport

@testable import Configuration

/// URLs that an endpoint may have, and URLs that it must not have.
struct WebhookAddressTests {
  private let strict = WebhookAddress(allowsHTTP: false, policy: AddressPolicy())

  @Test(arguments: [
    "https://example.com", "https://example.com/", "https://example.com/hook?a=b&c=%20", "https://example.com?x",
    "https://a.b-c.example.com:8443/x", "HTTPS://EXAMPLE.com/x", "https://xn--bcher-kva.example/",
    "https://example.com./x", "https://198.41.0.4/x", "https://[2a00:1450::1]/x", "https://[2A00:1450::1]:443",
    "https://example.com/a@b:c", "https://1.example.com", "https://a_b.example.com", "https://localhost",
  ])
  func taken(url: String) {
    #expect(strict.defect(of: url) == nil)
  }

  @Test(arguments: [
    "", "example.com", "//example.com", "ftp://example.com", "file:///etc/passwd", "https:/example.com", "https://",
    "https:///x", "https://?x", "https://user@example.com", "https://user:pw@example.com", "https://a@b@c.com",
    "https://example.com/#x", "https://example.com:0", "https://example.com:", "https://example.com:65536",
    "https://example.com:+80", "https://example.com:8o", "https://example.com:80:80", "https://exa mple.com",
    "https://b\u{fc}cher.example", "https://example.com\\@evil.com", "https://example.com/\n", "https://.example.com",
    "https://a..b", "https://exa%6dple.com", "https://127.1", "https://2130706433", "https://0x7f.0.0.1",
    "https://0x7f000001", "https://1.2.3.4.5", "https://256.1.1.1", "https://1.2.3.4.", "https://[::1",
    "https://[::1]x", "https://[::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[1.2.3.4]/", "https://[]/",
    "https://::1/", "javascript://example.com/%0aalert(1)", "https://" + String(repeating: "a", count: 64) + ".com",
    "https://example.com/" + String(repeating: "a", count: 2048), "https://127.0.1", "https://017700000001",
    "https://0177.0.0.1", "https://127.0.0.0x1", "https://127.0.0.1.", "https://0.0.0.0x", "https://[::ffff:1.2.3]",
    "https://[1::2::3]", "https://[0:0:0:0:0:0:0:0:1]", "https://[::127.1]",
  ])
  func refused(url: String) {
    #expect(strict.defect(of: url) != nil)
  }

  @Test func `numeric addresses are asked for, names are not`() {
    let forbidden = "leads to an address that is not public; notifier.allowedNetworks can admit its network"
    #expect(strict.defect(of: "https://127.0.0.1/x") == forbidden)
    #expect(strict.defect(of: "https://[::1]:8443/x") == forbidden)
    #expect(strict.defect(of: "https://[::ffff:7f00:1]/x") == forbidden)
    #expect(strict.defect(of: "https://[::ffff:10.0.0.1]/x") == forbidden)
    #expect(strict.defect(of: "https://169.254.169.254/latest") == forbidden)
    #expect(strict.defect(of: "https://127.0.0.1.example.com/x") == nil)
    let block = AddressBlock("127.0.0.0/8").map { [$0] } ?? []
    let local = WebhookAddress(allowsHTTP: false, policy: AddressPolicy(allowing: block))
    #expect(local.defect(of: "https://127.0.0.1/x") == nil)
    #expect(local.defect(of: "https://127.1/x") != nil)
  }

  @Test func `http is taken where the fleet allows it`() {
    #expect(strict.defect(of: "http://example.com") == "is not encrypted, expected an https:// URL")
    #expect(WebhookAddress(allowsHTTP: true, policy: AddressPolicy()).defect(of: "http://example.com:80/x") == nil)
  }
}
