import Testing

@testable import Console

/// The details of the audit log in words.
struct DetailWordsTests {
  @Test(arguments: [
    ("{}", ""), (#"{"environment":"Sandbox","subscriptionId":1801}"#, "environment Sandbox, subscription id 1801"),
    (#"{"members":"secrets"}"#, "members secrets"),
    (#"{"changed":["email","appAccountToken"],"created":false}"#, "changed email and appAccountToken, created no"),
    (#"{"count":2,"filter":{"publisher":7}}"#, "count 2, filter (publisher 7)"),
    (#"{"filter":{},"changed":[],"note":"","other":null}"#, "changed none, filter everything, note none, other none"),
    ("?", "?"), ("[1]", "[1]"), ("", ""),
  ])
  func `a detail reads as words`(detail: String, words: String) {
    #expect(DetailWords.text(Array(detail.utf8)) == words)
  }
}
