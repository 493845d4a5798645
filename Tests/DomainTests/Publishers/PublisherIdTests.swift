import Domain
import FoundationEssentials
import Testing

/// A publisher's id: a number to others, and a type of its own to us.
struct PublisherIdTests {
  private struct Message: Codable, Equatable {
    let publisherId: PublisherId
    var other: PublisherId?
  }

  @Test func `in JSON it is its number`() throws {
    let message = Message(publisherId: 1001)
    #expect(String(decoding: try JSONEncoder().encode(message), as: UTF8.self) == #"{"publisherId":1001}"#)
    #expect(
      try JSONDecoder().decode([PublisherId].self, from: Data("[7,9223372036854775807]".utf8)).last?.number == .max)
    #expect(try JSONDecoder().decode(Message.self, from: Data(#"{"publisherId":1001,"other":null}"#.utf8)) == message)
    for json in [#"{"publisherId":"1001"}"#, #"{"publisherId":1.5}"#, #"{"publisherId":9223372036854775808}"#] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(Message.self, from: Data(json.utf8)) }
    }
  }

  @Test func `the order is that of the numbers`() {
    let ids: [PublisherId] = [10, 9, -1, 1001]
    #expect(ids.sorted().map(\.number) == [-1, 9, 10, 1001])
    #expect(Set([7, PublisherId(7), 8] as [PublisherId]).count == 2)
  }

  @Test func `the text is that of the number`() {
    let id: PublisherId = 1001
    #expect("\(id)" == "1001" && String(id) == "1001" && "\([id])" == "[1001]")
    #expect("\(PublisherId(.min))" == "\(Int64.min)")
    #expect(PublisherId("1001") == id && PublisherId("a1001".dropFirst()) == id)
    for text in ["", " 1", "1.0", "0x1", "a", "9223372036854775808"] { #expect(PublisherId(text) == nil) }
  }
}
