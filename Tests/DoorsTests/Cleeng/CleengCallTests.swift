import Domain
import Formats
import HTTPServer
import JSON
import Testing

@testable import Doors
@testable import Gateway

/// Cleeng's JSON-RPC, by value.
struct CleengCallTests {
  private func call(_ text: String) -> CleengCall { CleengCall(Array(text.utf8)) }

  private func failure(_ text: String) -> CleengCall.Failure? {
    if case .failure(let failure) = call(text).tokens { failure } else { nil }
  }

  private static let parameters = #""params":{"publisherToken":"p","customerToken":"c"}"#

  @Test func `a call as clients send it`() {
    let expected = Result<_, CleengCall.Failure>.success(CleengCall.Tokens(publisher: "p", customer: "c"))
    let documented = call(#"{"method":"getAccessibleTags",\#(Self.parameters),"jsonrpc":"2.0","id":1}"#)
    #expect(documented.id == "1" && documented.tokens == expected)
    // A real client spells the version otherwise, and sends more.
    let real = call(#"{"method":"getAccessibleTags",\#(Self.parameters),"id":"a","json-rpc":"2.0","more":[]}"#)
    #expect(real.id == "a" && real.tokens == expected)
    for id in ["null", "[]", "{}", "true"] {
      #expect(call(#"{"method":"getAccessibleTags",\#(Self.parameters),"id":\#(id)}"#).id == nil)
    }
    #expect(call(#"{"method":"getAccessibleTags",\#(Self.parameters)}"#).id == nil)
    #expect(call(#"{"id":1.5}"#).id == "1.5")
  }

  @Test func `each mistake has its code`() {
    #expect(failure("{") == .parseError)
    #expect(failure("") == .parseError)
    #expect(failure("[]") == .invalidRequest)
    #expect(failure(#"[{"method":"getAccessibleTags",\#(Self.parameters)}]"#) == .invalidRequest)
    #expect(failure("{}") == .invalidRequest)
    #expect(failure(#"{"method":1}"#) == .invalidRequest)
    #expect(failure(#"{"method":"getAccessStatus",\#(Self.parameters)}"#) == .unknownMethod)
    for parameters in [
      "", #","params":[]"#, #","params":{"publisherToken":"p"}"#, #","params":{"customerToken":"c"}"#,
      #","params":{"publisherToken":1,"customerToken":"c"}"#,
    ] {
      #expect(failure(#"{"method":"getAccessibleTags"\#(parameters)}"#) == .invalidArguments, "\(parameters)")
    }
    #expect(call(#"{"method":"getAccessibleTags","id":7}"#).id == "7")
  }

  @Test func `the codes are Cleeng's, and those of JSON-RPC`() {
    #expect(
      CleengCall.Failure.allCases.map(\.code) == [1, 3, 5, 11, -32700, -32600, -32601, -32603, -32603, -32603])
    #expect(Set(CleengCall.Failure.allCases.map(\.message)).count == CleengCall.Failure.allCases.count)
  }

  private func text(_ id: String?, _ result: Result<[String], CleengCall.Failure>) -> String {
    String(decoding: CleengRPC.response(id: id, result).body, as: UTF8.self)
  }

  @Test func `answers`() {
    #expect(
      text("1", .success(["live", "vod \"é\""]))
        == #"{"result":{"tags":["live","vod \"é\""]},"id":"1","error":null,"jsonrpc":"2.0"}"#)
    #expect(text(nil, .success([])) == #"{"result":{"tags":[]},"id":null,"error":null,"jsonrpc":"2.0"}"#)
    #expect(
      text("1", .failure(.accessDenied))
        == #"{"result":null,"id":"1","error":{"code":5,"message":"Access denied"},"jsonrpc":"2.0"}"#)
    #expect(CleengRPC.response(id: nil, .failure(.parseError)).status == 200)
    let away = CleengRPC.response(id: nil, .failure(.unavailable))
    #expect(away.status == 503)
    #expect(away.headers.contains { $0.name == "Retry-After" })
    let often = CleengRPC.response(id: "1", .failure(.tooManyRequests))
    #expect(often.status == 429 && often.headers.contains { $0.name == "Retry-After" && $0.value == "1" })
    #expect(
      text("1", .failure(.tooManyRequests))
        == #"{"result":null,"id":"1","error":{"code":-32603,"message":"Too many requests"},"jsonrpc":"2.0"}"#)
  }
}
