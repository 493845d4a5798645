import FoundationEssentials
import JSON
import Testing

@testable import AppStore

/// What payload fields may look like.
struct PayloadDecodingTests {
  private func transaction(_ json: String) throws -> TransactionPayload {
    try JSONText(Array(json.utf8)).decoded()
  }

  @Test func fractionalDatesAreCut() throws {
    #expect(try transaction(#"{"purchaseDate":1697679936049.7297}"#).purchaseDate == 1_697_679_936_049)
    #expect(try transaction(#"{"purchaseDate":-1.5}"#).purchaseDate == -1)
    #expect(try transaction(#"{"purchaseDate":1e3}"#).purchaseDate == 1000)
    #expect(try transaction(#"{"purchaseDate":null}"#).purchaseDate == nil)
  }

  @Test(arguments: [
    #"{"price":1.5}"#, #"{"price":"1"}"#, #"{"purchaseDate":"1"}"#, #"{"purchaseDate":1e300}"#, #"{"quantity":"two"}"#,
    #"{"isUpgraded":1}"#, #"{"type":1}"#, "[]", "null",
  ])
  func wrongTypes(json: String) {
    #expect(throws: DecodingError.self) { try transaction(json) }
  }

  @Test func unknownValuesAreKept() throws {
    let payload = try transaction(
      #"{"type":"Rental","offerType":9,"environment":"Moon","price":9007199254740993,"new":{"a":[1]}}"#)
    #expect(payload.type?.rawValue == "Rental")
    #expect(payload.offerType?.rawValue == 9)
    #expect(payload.environment?.isSignedByApple == true)
    #expect(payload.price == 9_007_199_254_740_993)
  }

  @Test func anyJSON() throws {
    let json = #"{"a":[1,2.5,"x",true,null],"b":{}}"#
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
    #expect(
      value
        == .object(["a": .array([.integer(1), .number(2.5), .string("x"), .bool(true), .null]), "b": .object([:])]))
    #expect(
      try JSONDecoder().decode(JSONValue.self, from: try JSONEncoder().encode(value)) == value)
  }
}
