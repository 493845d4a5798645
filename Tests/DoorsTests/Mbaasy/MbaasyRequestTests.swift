import Crypto
import Domain
import HTTPServer
import Testing

@testable import Doors
@testable import Gateway

/// Uploads of receipts as Mbaasy's clients send them, and the mistakes that are told by field.
struct MbaasyRequestTests {
  private func request(_ body: String, prefix: String = "") -> Result<MbaasyRequest, MbaasyError> {
    Result { () throws(MbaasyError) in try MbaasyRequest(Array(body.utf8), DoorPolicy(customerPrefix: prefix)) }
  }

  /// The answer's body.
  private func errors(_ body: String, prefix: String = "") -> String? {
    guard case .failure(let error) = request(body, prefix: prefix) else { return nil }
    #expect(error.status == 422)
    return String(decoding: error.response.body, as: UTF8.self)
  }

  @Test func `a receipt alone is enough`() throws {
    let taken = try request(#"{"receipt":"AAAA"}"#).get()
    #expect(taken.receipt == "AAAA")
    #expect(taken.countryCode == nil && taken.identifierForVendor == nil && taken.userIdentifier == nil)
    #expect(taken.metadata == nil)
    #expect(taken.address == .ofClient)
    // `null` is no value, and members that the contract does not know are ignored.
    let empty =
      #"{"receipt":"AAAA","country_code":null,"identifier_for_vendor":null,"user_identifier":null,"#
      + #""metadata":null,"style":1}"#
    #expect(try request(empty).get() == taken)
  }

  @Test func `everything that the contract has`() throws {
    let taken = try request(
      #"""
      {"receipt": "AAAA", "country_code": "de", "identifier_for_vendor": "7D2A3C4E-0000-4000-8000-000000000000",
       "user_identifier": "user-1", "ip_address": "2001:DB8::1", "metadata": {"b": [1, null], "a": "x"}}
      """#
    ).get()
    #expect(taken.countryCode == "DE")
    #expect(taken.identifierForVendor == "7D2A3C4E-0000-4000-8000-000000000000")
    #expect(taken.userIdentifier == "user-1")
    #expect(taken.address == .named("2001:DB8::1"))
    #expect(taken.metadata == Array(#"{"a":"x","b":[1,null]}"#.utf8))
  }

  @Test(arguments: [
    ("null", MbaasyRequest.Address.notKept), (#""NULL""#, .notKept), (#""192.0.2.1""#, .named("192.0.2.1")),
    (#""::1""#, .named("::1")),
  ])
  func `an address is named, or not kept`(json: String, address: MbaasyRequest.Address) throws {
    #expect(try request(#"{"receipt":"AAAA","ip_address":\#(json)}"#).get().address == address)
  }

  @Test func `all mistakes come at once, by field`() {
    #expect(
      errors(
        #"""
        {"country_code": "DEU", "identifier_for_vendor": "", "user_identifier": "", "ip_address": "localhost",
         "metadata": [1]}
        """#)
        == #"{"errors":{"receipt":["is missing"],"#
        + #""country_code":["is not a code of two letters (ISO 3166-1 alpha-2)"],"#
        + #""identifier_for_vendor":["is not 1 to 256 characters, none of them a control character"],"#
        + #""user_identifier":["is empty"],"ip_address":["is not an IPv4 or IPv6 address"],"#
        + #""metadata":["is not an object"]}}"#)
    #expect(
      errors(
        #"{"receipt":1,"country_code":2,"identifier_for_vendor":3,"user_identifier":4,"ip_address":5,"metadata":6}"#)
        == #"{"errors":{"receipt":["is not a text"],"country_code":["is not a text"],"#
        + #""identifier_for_vendor":["is not a text"],"user_identifier":["is not a text"],"#
        + #""ip_address":["is not a text"],"metadata":["is not an object"]}}"#)
  }

  @Test(arguments: [
    (#"{"receipt":null}"#, #"{"receipt":["is missing"]}"#), (#"{"receipt":""}"#, #"{"receipt":["is empty"]}"#),
    ("[]", #"{"base":["is not a JSON object"]}"#), ("", #"{"base":["is missing; send a JSON object"]}"#),
    ("receipt=AAAA", #"{"base":["is not JSON at byte 0"]}"#),
    (
      #"{"receipt":"A","receipt":"B"}"#,
      #"{"base":["a member appears twice in one object, again at byte 16"]}"#
    ),
    (
      #"{"receipt":"A","identifier_for_vendor":"a\u0000b"}"#,
      #"{"identifier_for_vendor":["is not 1 to 256 characters, none of them a control character"]}"#
    ),
    (
      #"{"receipt":"A","user_identifier":"erased:x"}"#,
      #"{"user_identifier":["is not 1 to 256 bytes without control characters"]}"#
    ),
    (#"{"receipt":"A","country_code":""}"#, #"{"country_code":["is not a code of two letters (ISO 3166-1 alpha-2)"]}"#),
    (#"{"receipt":"A","ip_address":"null"}"#, #"{"ip_address":["is not an IPv4 or IPv6 address"]}"#),
  ])
  func mistakes(body: String, expected: String) {
    #expect(errors(body) == #"{"errors":\#(expected)}"#)
  }

  @Test func `a user's name is as long as the prefix leaves room for`() {
    func isTaken(_ bytes: Int) -> Bool {
      errors(#"{"receipt":"A","user_identifier":"\#(String(repeating: "u", count: bytes))"}"#, prefix: "mb:") == nil
    }
    #expect(isTaken(253))
    #expect(!isTaken(254))
    let long = errors(#"{"receipt":"A","user_identifier":"\#(String(repeating: "u", count: 254))"}"#, prefix: "mb:")
    #expect(long?.contains("is not 1 to 253 bytes") == true)
  }

  @Test func `metadata has a limit`() {
    func isTaken(_ bytes: Int) -> Bool {
      // {"a":""} has eight bytes.
      errors(#"{"receipt":"A","metadata":{ "a": "\#(String(repeating: "x", count: bytes - 8))" }}"#) == nil
    }
    #expect(isTaken(16384))
    #expect(!isTaken(16385))
  }

  // MARK: The client token

  private let publishers = Publishers([
    Publisher(
      id: 7, customers: .open, tokenHashes: [SHA256.hash(Array("publisher".utf8))], customerTokens: nil, apps: [],
      offers: OfferCatalog([]),
      doors: OpenDoors(
        mbaasy: MbaasyDoor(clientTokens: [
          MbaasyDoor.ClientToken(hash: SHA256.hash(Array("one".utf8)), bundleId: "com.example.one"),
          MbaasyDoor.ClientToken(hash: SHA256.hash(Array("two".utf8)), bundleId: "com.example.two"),
        ])),
      webhooks: [])
  ])

  private func caller(_ headers: (String, String)...) -> Result<MbaasyAuthentication, MbaasyError> {
    let request = HTTPServerRequest(method: "POST", path: [], headers: headers.map { (name: $0.0, value: $0.1) })
    return Result { () throws(MbaasyError) in try MbaasyAuthentication(request, publishers, now: 0) }
  }

  @Test func `a token names the publisher and the app`() throws {
    let one = try caller(("authorization", "bearer one")).get()
    #expect(one.publisher.id == 7 && one.bundleId == "com.example.one")
    #expect(try caller(("Authorization", "Bearer two")).get().bundleId == "com.example.two")
  }

  @Test func `a wrong token is refused by the head alone`() {
    func refusal(_ token: String) -> Int? {
      let head = HTTPServerRequest(method: "POST", path: [], headers: [("Authorization", "Bearer \(token)")])
      var pace = DoorPace()
      return MbaasyAPI.admission(of: head, publishers, now: 0).refusal(&pace, now: .zero)?.status
    }
    #expect(refusal("one") == nil)
    #expect(refusal("three") == 401)
  }

  @Test func `without a right token the answer is 401`() {
    let wrong = [
      caller(), caller(("X-Publisher-Token", "publisher")), caller(("Authorization", "one")),
      caller(("Authorization", "Basic one")), caller(("Authorization", "Bearer")),
      caller(("Authorization", "Bearer one two")), caller(("Authorization", "Bearer publisher")),
      caller(("Authorization", "Bearer One")),
    ]
    for result in wrong {
      guard case .failure(let error) = result else {
        Issue.record("accepted")
        continue
      }
      let response = error.response
      #expect(response.status == 401)
      #expect(response.headers.contains { $0.name == "WWW-Authenticate" && $0.value.hasPrefix("Bearer") })
      #expect(String(decoding: response.body, as: UTF8.self).hasPrefix(#"{"errors":{"authorization":["is "#))
    }
  }
}
