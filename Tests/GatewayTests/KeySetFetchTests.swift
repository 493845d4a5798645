import Crypto
import HTTP
import Service
import TestSupport
import Testing

@testable import Domain
@testable import Gateway

/// The answers of an identity provider, by value.
struct KeySetFetchTests {
  @Test(arguments: [
    ("max-age=600", 600), ("public, max-age=600", 600), ("Max-Age = \"600\"", 600), ("max-age=0", 0),
    ("max-age=600, no-store", 0), ("no-cache", 0), ("private", nil), ("", nil), ("max-age", nil), ("max-age=x", nil),
    ("max-age=-1", nil), ("s-maxage=600", nil), ("max-age=9999999999", nil), ("max-age=600, must-revalidate", 600),
  ])
  func freshness(field: String, seconds: Int?) {
    #expect(KeySetFetch.maxAge(field) == seconds.map { .seconds($0) }, "\(field)")
  }

  /// What a fetch comes to, in one text.
  private func outcome(_ response: HTTPClientResponse) -> String {
    switch KeySetFetch(response) {
    case .fetched(let set, let maxAge): "\(set.keys.map { $0.id ?? "" }) \(maxAge.map { "\($0)" } ?? "nil")"
    case .failed(let failure, let cause): "\(failure.rawValue): \(cause)"
    }
  }

  @Test func answers() throws {
    let set = Array(TestKeys.set([TestKeys.jwk(try P256PrivateKey.generate().publicKey, id: "a")]).utf8)
    #expect(outcome(HTTPClientResponse(status: 200, body: set)) == "[a] nil")
    // The type does not count: providers send several.
    let headers = [(name: "content-type", value: "text/plain"), (name: "cache-control", value: "max-age=900")]
    #expect(outcome(HTTPClientResponse(status: 200, headers: headers, body: set)) == "[a] 900.0 seconds")
    for status in [204, 301, 302, 304, 404, 500, 503] {
      #expect(outcome(HTTPClientResponse(status: status, body: set)) == "status: HTTP \(status)")
    }
    for (body, cause) in [
      ("<html>", "it is not a JSON object with a list \"keys\""), (#"{"keys":[]}"#, "it has no usable key"),
      (#"{"keys":[{"kty":"oct"}]}"#, "it has no usable key; of the first one, kty is not RSA, EC or OKP"),
    ] {
      #expect(outcome(HTTPClientResponse(status: 200, body: Array(body.utf8))) == "unusable: \(cause)")
    }
  }
}
