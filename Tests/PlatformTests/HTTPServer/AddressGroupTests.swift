import Testing

@testable import HTTPServer

/// The addresses that count as one client.
struct AddressGroupTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2::1", "2001:db8:1:2::/64"), ("2001:DB8:1:2:ffff::9", "2001:db8:1:2::/64"),
    ("::1", "0:0:0:0::/64"), ("no:address", ""), ("no.address", ""),
    ("::ffff:192.0.2.1", "192.0.2.1"), ("64:ff9b::c000:201", "192.0.2.1"), ("64:ff9b::1:c000:201", "64:ff9b:0:0::/64"),
    ("::c000:201", "0:0:0:0::/64"), ("64:ff9b:1::c000:201", "64:ff9b:1:0::/64"),
  ])
  func `an address has its group`(address: String, text: String) { #expect(AddressGroup(address).text == text) }

  @Test func `all unknown addresses are one client`() { #expect(AddressGroup(nil) == AddressGroup("not:one")) }

  @Test func `another network is another client`() {
    #expect(AddressGroup("2001:db8:1:2::1") == AddressGroup("2001:db8:1:2:3::1"))
    #expect(AddressGroup("2001:db8:1:2::1") != AddressGroup("2001:db8:1:3::1"))
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2::1", "2001:db8:1::/48"), ("::ffff:192.0.2.1", "192.0.2.1"), ("", ""),
  ])
  func `a group has a wider one`(address: String, text: String) { #expect(AddressGroup(address).wide.text == text) }

  @Test func `the networks of one customer have one wide group`() {
    let (first, last) = (AddressGroup("2001:db8:1::1"), AddressGroup("2001:db8:1:ffff::1"))
    #expect(first != last && first.wide == last.wide && first.wide.wide == first.wide)
    #expect(AddressGroup("2001:db8:2::1").wide != first.wide)
    #expect(first.wide != first)
  }
}
