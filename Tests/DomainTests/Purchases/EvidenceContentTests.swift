import DomainSupport
import Testing

@testable import Domain

/// What a piece of evidence says besides its date.
struct EvidenceContentTests {
  private func content(_ json: String) -> [UInt8] {
    var piece = TestPurchases.evidence(.transaction(TestPurchases.transaction()))
    piece.payload = Array(json.utf8)
    return piece.contentSHA256
  }

  @Test func `the date and the device's own members do not count`() {
    let one =
      #"{"price":1,"signedDate":1700000000000,"deviceVerification":"ab+/=","deviceVerificationNonce":"n"}"#
    let other =
      #"{"price":1,"signedDate":1800000000001,"deviceVerification":"","deviceVerificationNonce":"m"}"#
    #expect(content(one) == content(other))
    #expect(content(#"{"signedDate" : 1}"#) == content(#"{"signedDate" : 22}"#))
    #expect(content(#"{"signedDate":1"#) == content(#"{"signedDate":2"#))
  }

  @Test(arguments: [
    (#"{"signedDate":1,"price":1}"#, #"{"signedDate":1,"price":2}"#),
    (#"{"signedDate":1,"price":1}"#, #"{"signedDate":1,"cost":1}"#),
    (#"{"expiresDate":1}"#, #"{"expiresDate":2}"#),
    // Twice, with an escape, or of another form: then nothing is cut.
    (#"{"signedDate":1,"a":{"signedDate":1}}"#, #"{"signedDate":2,"a":{"signedDate":1}}"#),
    (#"{"deviceVerification":"a\"b"}"#, #"{"deviceVerification":"a\"c"}"#),
    (#"{"signedDate":{"a":1}}"#, #"{"signedDate":{"a":2}}"#), (#"{"signedDate":-1}"#, #"{"signedDate":-2}"#),
    (#"{"a":"signedDate","b":1}"#, #"{"a":"signedDate","b":2}"#),
  ])
  func `anything else counts`(one: String, other: String) { #expect(content(one) != content(other)) }

  @Test(arguments: [
    "", "{", #""signedDate""#, #""signedDate":"#, #""signedDate": "#, #""signedDate":""#, #""signedDate":"x"#,
    #""signedDate":""#, #"{"signedDate":}"#, #""signedDate":"\"#,
  ])
  func `a text that ends early is no trap`(json: String) { #expect(content(json) == content(json)) }
}
