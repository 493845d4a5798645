import Testing

@testable import HTTPServer

/// The addresses that count as one client.
struct AddressGroupTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2::1", "2001:db8:1:2::/64"), ("2001:DB8:1:2:ffff::9", "2001:db8:1:2::/64"),
    ("::1", "0:0:0:0::/64"), ("no:address", ""),
  ])
  func `an address has its group`(address: String, text: String) { #expect(AddressGroup(address).text == text) }

  @Test func `all unknown addresses are one client`() { #expect(AddressGroup(nil) == AddressGroup("not:one")) }

  @Test func `another network is another client`() {
    #expect(AddressGroup("2001:db8:1:2::1") == AddressGroup("2001:db8:1:2:3::1"))
    #expect(AddressGroup("2001:db8:1:2::1") != AddressGroup("2001:db8:1:3::1"))
  }
}
