import Crypto
import Domain
import Formats
import JSON
import Ledger
import Testing

@testable import Doors
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

  @Test func `two secrets that share an escape lose it once`() {
    let key: [UInt8] = [0xA9] + [UInt8](repeating: 0x41, count: 22) + [0xC3]
    let filter = SecretFilter(
      WebhookEndpoint(id: "e", url: "u", topics: [], format: .fovea, secrets: [WebhookEndpoint.Secret(key: key)]))
    // One escape is two letters: the first one ends a secret, the second one begins the next.
    let answer = Array(key.dropLast()) + Array(#"\u00e9"#.utf8) + Array(key.dropFirst())
    #expect(String(decoding: filter.clean(answer), as: UTF8.self) == "[secret]")
    #expect(filter.clean(answer, limit: 3) == Array("[se".utf8))
    let twice = Array("a".utf8) + answer + Array("b".utf8) + answer
    #expect(String(decoding: filter.clean(twice), as: UTF8.self) == "a[secret]b[secret]")
  }

  @Test func `a pair of escapes is one letter`() {
    let filter = SecretFilter(endpoint(["key 😀 of mine"]))
    #expect(filter.clean(#"{"a":"key \ud83d\ude00 of mine"}"#) == #"{"a":"[secret]"}"#)
    #expect(filter.clean(#"key \\ud83d\\uDE00 of mine \ud83d"#) == #"[secret] \ud83d"#)
  }

  @Test func `a backslash before a secret does not hide it`() {
    let filter = SecretFilter(endpoint(["no-secret-but-mine"]))
    #expect(filter.clean(#"C:\no-secret-but-mine"#) == #"C:\[secret]"#)
  }

  /// Escapes as JSON does, the letters beyond ASCII too.
  private func quoted(_ bytes: [UInt8]) -> [UInt8] {
    var quoted: [UInt8] = []
    var rest = bytes[...]
    while let first = rest.first {
      let escapes: [(letter: [UInt8], escape: String)] = [
        ([0xC3, 0xA9], #"\u00e9"#), ([0xE2, 0x82, 0xAC], #"\u20ac"#), ([0x5C], #"\\"#), ([0x0A], #"\n"#),
      ]
      let found = escapes.first { rest.starts(with: $0.letter) }
      quoted += found.map { Array($0.escape.utf8) } ?? [first]
      rest = rest.dropFirst(found?.letter.count ?? 1)
    }
    return quoted
  }

  /// Texts of whole and partial secrets, escaped or not, and of parts of escapes.
  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `no text stops it, and no secret stays`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let letters: [[UInt8]] = [[0x41], [0x42], [0xC3], [0xA9], [0xE2, 0x82, 0xAC], [0x5C], [0x0A], [0x75]]
    let keys = (0..<2).map { _ in
      (0..<Int.random(in: 16...24, using: &random)).flatMap { _ in letters.randomElement(using: &random)! }
    }
    let filter = SecretFilter(
      WebhookEndpoint(
        id: "e", url: "u", topics: [], format: seed % 2 == 0 ? .fovea : .cleeng,
        secrets: keys.map { WebhookEndpoint.Secret(key: $0) }))
    let pieces = [#"\u00e9"#, #"\u20AC"#, #"\\u0041"#, #"\ud83d"#, #"\ude00"#, #"\u00"#, #"\"#, #"\n"#, "x", "A"]
    for _ in 0..<20 {
      var text: [UInt8] = []
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let key = keys.randomElement(using: &random)!
        switch Int.random(in: 0..<5, using: &random) {
        case 0: text += key
        case 1: text += key.dropFirst(Int.random(in: 0...2, using: &random))
        case 2: text += key.dropLast(Int.random(in: 0...2, using: &random))
        case 3: text += Array("\"".utf8) + quoted(key)
        default: text += Array(pieces.randomElement(using: &random)!.utf8)
        }
      }
      let cleaned = filter.clean(text)
      for key in keys {
        #expect(!cleaned.contains(key), "seed \(seed)")
        #expect(!cleaned.contains(quoted(key)), "seed \(seed)")
      }
      let limit = Int.random(in: 0...text.count, using: &random)
      #expect(filter.clean(text, limit: limit) == Array(cleaned.prefix(limit)), "seed \(seed)")
    }
  }

  @Test func `the work for a text of many near matches grows with its length only`() throws {
    let key = [UInt8](repeating: 0x41, count: 30_000) + [0x42]
    let pattern = try #require(BytePattern(key))
    // Every place almost matches: a search that began anew at each place would compare two billion bytes.
    #expect(pattern.places(in: [UInt8](repeating: 0x41, count: 100_000)).isEmpty)
    let text = [UInt8](repeating: 0x41, count: 100_000) + [0x42]
    #expect(pattern.places(in: text) == [70_000..<100_001])
    #expect(BytePattern([1, 1])?.places(in: [1, 1, 1]) == [0..<2, 1..<3])
    #expect(BytePattern([]) == nil)
  }

  @Test func `the record of an attempt has none`() throws {
    let body = #"{"broadcasterId":1,"topic":"t","data":{}}"#
    let delivery = try Delivery(eventId: "evt_1", endpointId: nil, headers: [:], body: Array(body.utf8))
    var ending = WebhookAttempt.Ending()
    ending.status = 500
    ending.answer = Array((String(repeating: "x", count: 1015) + #"{"password":"a-secret-of-mine"}"#).utf8)
    let verdict = DeliveryStep.abandoned("failed with a-secret-of-mine")
    let record = ending.record(delivery, endpoint(["a-secret-of-mine"]), verdict, nil, at: 5)
    #expect(record.error == "failed with [secret]")
    #expect(record.answer?.utf8.count == 1024)
    #expect(record.answer?.hasSuffix(#"{"passwor"#) == true)
    // As JSON, it takes no more than 2 KiB.
    ending.answer = [UInt8](repeating: 1, count: 2000)
    #expect(ending.record(delivery, endpoint([]), verdict, nil, at: 5).answer?.utf8.count == 341)
    ending.answer = Array(#"{"password":"a-secret-of-mine"}"#.utf8)
    #expect(
      ending.record(delivery, endpoint(["a-secret-of-mine"]), verdict, nil, at: 5).answer == #"{"password":"[secret]"}"#
    )
  }
}
