import Testing
import Transport

/// Which addresses webhooks may be sent to.
struct AddressPolicyTests {
  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3",
    "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::ffff:0:10.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1",
    "2001:db8::1", "3fff::1", "5f00::1", "100::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
    "fe80::5efe:127.0.0.1", "2a00::5efe:10.0.0.1", "2a00::200:5efe:10.0.0.1",
  ])
  func forbidden(text: String) throws {
    let address = try #require(NetworkAddress(text))
    #expect(!AddressPolicy().allows(address))
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "198.17.255.255", "198.20.0.0",
    "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
    "2a00::5efe:8.8.8.8",
  ])
  func allowed(text: String) throws {
    #expect(AddressPolicy().allows(try #require(NetworkAddress(text))))
  }

  @Test func whatThePlatformTeamAllows() throws {
    let policy = AddressPolicy(allowing: ["127.0.0.0/8", "fd12::/16"].compactMap { AddressBlock($0) })
    func allows(_ text: String) throws -> Bool { policy.allows(try #require(NetworkAddress(text))) }
    for text in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "fd12::1"] {
      #expect(try allows(text), "\(text)")
    }
    for text in ["10.0.0.1", "::1", "fd13::1", "::ffff:10.0.0.1"] { #expect(try !allows(text), "\(text)") }
  }

  @Test(
    arguments: [
      ("1.2.3.4", [1, 2, 3, 4]), ("255.255.255.255", [255, 255, 255, 255]),
      ("::", Array(repeating: 0, count: 16)), ("::1", Array(repeating: 0, count: 15) + [1]),
      ("1::", [0, 1] + Array(repeating: 0, count: 14)),
      ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
      ("1:2:3:4:5:6:1.2.3.4", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, 2, 3, 4]),
      ("FE80::aB", [0xfe, 0x80] + Array(repeating: 0, count: 13) + [0xab]),
    ] as [(String, [UInt8])])
  func addresses(text: String, bytes: [UInt8]) {
    #expect(NetworkAddress(text)?.bytes == bytes)
  }

  @Test(arguments: [
    ("1.2.3.4", "1.2.3.4"), ("::", "::"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
    ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
  ])
  func written(text: String, expected: String) {
    #expect(NetworkAddress(text)?.text == expected)
  }

  @Test(arguments: [
    "", ".", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.-4", "1.2.3.4 ", "0x7f.0.0.1", ":", ":::", "1:2",
    "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1%lo", "1:2:3:4:5:6:7::8", "::1.2.3", "1.2.3.4::", "example",
  ])
  func noAddresses(text: String) {
    #expect(NetworkAddress(text) == nil)
  }

  @Test func blocks() throws {
    let block = try #require(AddressBlock("10.128.0.0/9"))
    #expect(block.contains(try #require(NetworkAddress("10.128.0.0"))))
    #expect(block.contains(try #require(NetworkAddress("10.255.255.255"))))
    #expect(!block.contains(try #require(NetworkAddress("10.127.255.255"))))
    #expect(!block.contains(try #require(NetworkAddress("::10.128.0.0"))))
    #expect(AddressBlock("::1")?.length == 128)
    #expect(AddressBlock("0.0.0.0/0")?.contains(try #require(NetworkAddress("8.8.8.8"))) == true)
    for text in ["10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1", "/8", "10.0.0.0/8/8", "x", "::/129", ""] {
      #expect(AddressBlock(text) == nil, "\(text)")
    }
  }
}
