import Crypto
import Domain
import JSON
import Ledger
import Testing

@testable import Notifier

/// The log never shows a secret.
struct SecretFilterTests {
  private func endpoint(
    _ secrets: [String], _ format: WebhookEndpoint.Format = .fovea
  ) -> WebhookEndpoint {
    WebhookEndpoint(
      id: "e", url: "u", topics: [], format: format,
      secrets: secrets.map { WebhookEndpoint.Secret(key: Array($0.utf8)) })
  }

  private func json(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    "0123456789abcdef", #"quotes"and\slashes/<here>"#, #"\\\u0041\nothing\\twice"#, "line\nand tab\tZoë €uro",
  ])
  func `a secret is found however often it was escaped`(secret: String) {
    let filter = SecretFilter(endpoint(["another-secret-1", secret]))
    let once = json(secret)
    let php = once.replacing("/", with: #"\/"#)
    let safe = once.replacing("<", with: #"\u003c"#).replacing(">", with: #"\u003E"#).replacing("ë", with: #"\u00eb"#)
    #expect(filter.clean("a \(secret) b \(secret)") == "a [secret] b [secret]")
    for text in [once, php, safe] {
      #expect(filter.clean(#"{"password":\#(text),"x":1}"#) == #"{"password":"[secret]","x":1}"#)
      let twice = json(json(#"{"password":\#(text)}"#))
      #expect(filter.clean(twice).contains("[secret]"))
      #expect(!filter.clean(twice).contains(secret.suffix(5)))
    }
    #expect(filter.clean("another-secret-1") == "[secret]")
  }

  @Test func `what is no secret stays as it is`() {
    let filter = SecretFilter(endpoint(["0123456789abcdef"]))
    for text in ["", "0123456789abcde", #"\ \\ \u12 \u0041 {"a":"b\n"}"#, "Zoë", #"ends with \"#] {
      #expect(filter.clean(text) == text)
    }
    #expect(SecretFilter(endpoint([])).clean("text") == "text")
  }

  @Test func `no part of a secret is left where the answer is cut off`() {
    let filter = SecretFilter(endpoint(["0123456789abcdef"]))
    for before in 0...40 {
      let text = String(repeating: "x", count: before) + "0123456789abcdef and some more"
      let cleaned = String(decoding: filter.clean(Array(text.utf8), limit: 20), as: UTF8.self)
      #expect(!cleaned.contains("0") && cleaned.utf8.count == 20)
      #expect(cleaned == String((String(repeating: "x", count: before) + "[secret] and some more").prefix(20)))
    }
  }

  @Test func `a shared secret is found as text, and as it is shown`() {
    let key = "0123456789abcdef0123456789abcdef"
    let filter = SecretFilter(endpoint([key], .cleeng))
    let shown = "whsec_" + Base64.encode(Array(key.utf8))
    #expect(filter.clean("\(key) \(shown)") == "[secret] whsec_[secret]")
  }

  @Test func `the record of an attempt has none`() throws {
    let body = #"{"broadcasterId":1,"topic":"t","data":{}}"#
    let delivery = try Delivery(eventId: "evt_1", endpointId: nil, headers: [:], body: Array(body.utf8))
    var ending = WebhookAttempt.Ending()
    ending.status = 500
    ending.answer = Array((String(repeating: "x", count: 1015) + #"{"password":"a-secret-of-mine"}"#).utf8)
    let verdict = AttemptVerdict.abandoned("failed with a-secret-of-mine")
    let record = ending.record(delivery, endpoint(["a-secret-of-mine"]), verdict, nil, at: 5)
    #expect(record.error == "failed with [secret]")
    #expect(record.answer?.utf8.count == 1024)
    #expect(record.answer?.hasSuffix(#"{"passwor"#) == true)
    ending.answer = Array(#"{"password":"a-secret-of-mine"}"#.utf8)
    #expect(
      ending.record(delivery, endpoint(["a-secret-of-mine"]), verdict, nil, at: 5).answer == #"{"password":"[secret]"}"#
    )
  }
}
