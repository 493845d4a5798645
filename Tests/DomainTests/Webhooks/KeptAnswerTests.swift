import JSON
import Testing

@testable import Domain

/// The part of an endpoint's answer that the log of attempts keeps.
struct KeptAnswerTests {
  private func bytes(_ text: String, _ count: Int) -> [UInt8] { Array(String(repeating: text, count: count).utf8) }

  @Test(arguments: [(1, 1), (1023, 1023), (1024, 1024), (1025, 1024), (60_000, 1024)])
  func `the first KiB is kept`(length: Int, kept: Int) {
    #expect(DeliveryAttempt.keptAnswer(bytes("a", length)) == String(repeating: "a", count: kept))
  }

  @Test func `an empty answer is none`() { #expect(DeliveryAttempt.keptAnswer([]) == nil) }

  @Test(arguments: ["é", "€", "😀"])
  func `no character is cut in two`(character: String) {
    for offset in 0..<character.utf8.count {
      let answer = String(repeating: "a", count: offset) + String(repeating: character, count: 1000)
      let kept = DeliveryAttempt.keptAnswer(Array(answer.utf8)) ?? ""
      #expect(answer.hasPrefix(kept) && kept.utf8.count > 1024 - character.utf8.count && kept.utf8.count <= 1024)
    }
  }

  @Test func `a character that just fits is kept`() {
    #expect(DeliveryAttempt.keptAnswer(bytes("a", 1022) + bytes("é", 9))?.hasSuffix("aé") == true)
    #expect(DeliveryAttempt.keptAnswer(bytes("a", 1023) + bytes("é", 9)) == String(repeating: "a", count: 1023))
  }

  /// What each takes as JSON: two bytes, six, and three for the replacement of a byte that is no UTF-8.
  @Test(arguments: [(0x22, 1024), (0x5C, 1024), (0x0A, 1024), (0x01, 341), (0x00, 341), (0x80, 682), (0xFF, 682)])
  func `as JSON it takes at most two KiB`(byte: UInt8, characters: Int) throws {
    let kept = try #require(DeliveryAttempt.keptAnswer([UInt8](repeating: byte, count: 3000)))
    #expect(kept.unicodeScalars.count == characters)
    #expect(JSONWriter.text(kept).count <= DeliveryAttempt.keptAnswerJSONBytes + 2)
  }
}
