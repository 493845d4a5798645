import Domain
import Testing

@testable import Ledger

/// The address of a person in an entry of the audit log: added, and taken away again.
struct AuditAddressTests {
  @Test(
    arguments: [
      ("{}", "203.0.113.7", #"{"address":"203.0.113.7"}"#),
      (#"{"a":1}"#, "2001:db8::1", #"{"a":1,"address":"2001:db8::1"}"#),
      (#"{"a":{}}"#, "fe80::1%eth0", #"{"a":{},"address":"fe80::1"}"#),
    ])
  func `a detail gets an address, and is itself without it`(detail: String, address: String, whole: String) {
    let made = AuditAddress.adding(address, to: Array(detail.utf8))
    #expect(String(decoding: made, as: UTF8.self) == whole)
    let (own, found) = AuditAddress.split(made)
    #expect(String(decoding: own, as: UTF8.self) == detail)
    #expect(found == String(address.prefix { $0 != "%" }))
  }

  @Test(arguments: ["", "x", #"1"}"#, "evil\"", String(repeating: "1", count: 65), "%eth0"])
  func `what is no address is left out`(text: String) {
    #expect(AuditAddress.adding(text, to: Array("{}".utf8)) == Array("{}".utf8))
  }

  @Test(
    arguments: [
      "", "}", "\"}", "{}", "?", #"{"a":"1"}"#, #"{"address":""}"#, #"{"address":"x"}"#, #"{"myaddress":"1"}"#,
      #"{"address":"1","a":"2"}"#, #"address":"1"}"#,
    ])
  func `a detail without an address stays as it is`(text: String) {
    let (own, address) = AuditAddress.split(Array(text.utf8))
    #expect(own == Array(text.utf8) && address == nil)
  }

  @Test func `only entries of people have the address of the request`() {
    AuditEntry.$personAddress.withValue("203.0.113.7") {
      let person = AuditEntry(publisherId: 7, operator: "ada", action: "a", subject: "s", detail: Array("{}".utf8))
      let nobody = AuditEntry(publisherId: 0, actor: .operator, action: "console.refused", subject: "console")
      let backend = AuditEntry(publisherId: 7, actor: .publisher, action: "a", subject: "s")
      for entry in [person, nobody] { #expect(AuditAddress.split(entry.detail).address == "203.0.113.7") }
      #expect(backend.detail == Array("{}".utf8))
    }
    let command = AuditEntry(publisherId: 7, operator: "kim", action: "a", subject: "s", detail: Array("{}".utf8))
    #expect(command.detail == Array("{}".utf8))
  }
}
