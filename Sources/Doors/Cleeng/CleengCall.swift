import Domain
import Formats
import Gateway
import JSON

/// A call of Cleeng's JSON-RPC API.
///
/// A real client spells the member `jsonrpc` otherwise, so nobody looks at it. Cleeng answers with the id as a text.
struct CleengCall: Equatable {
  /// The id of the call, as the answer has it; `nil` for a call without one.
  let id: String?
  /// The credentials of a call that can be answered.
  let tokens: Result<Tokens, Failure>

  /// The parameters of `getAccessibleTags`.
  struct Tokens: Equatable {
    let publisher: String
    let customer: String
  }

  /// The most of a credential.
  private static let longest = TextLimit.bytes(Authenticator.longestToken)

  /// The only method that is served.
  static let method = "getAccessibleTags"

  /// Reads a body. A batch of calls is no call: Cleeng does not document batches.
  init(_ body: [UInt8]) {
    guard let value: JSONValue = try? JSONText(body).decoded() else {
      (id, tokens) = (nil, .failure(.parseError))
      return
    }
    guard case .object(let members) = value else {
      (id, tokens) = (nil, .failure(.invalidRequest))
      return
    }
    id =
      switch members["id"] {
      case .string(let text): TextLimit.name.admits(text) ? text : nil
      case .integer(let number): String(number)
      case .number(let number): String(number)
      default: nil
      }
    tokens = Self.tokens(of: members)
  }

  private static func tokens(of members: [ExactText: JSONValue]) -> Result<Tokens, Failure> {
    guard case .string(let name) = members["method"] else { return .failure(.invalidRequest) }
    guard name.isExactly(method) else { return .failure(.unknownMethod) }
    guard case .object(let parameters) = members["params"], case .string(let publisher) = parameters["publisherToken"],
      case .string(let customer) = parameters["customerToken"], [publisher, customer].allSatisfy(longest.admits)
    else { return .failure(.invalidArguments) }
    return .success(Tokens(publisher: publisher, customer: customer))
  }

  /// Why a call fails. The codes from 1 are Cleeng's; the others are those of JSON-RPC 2.0.
  enum Failure: Error, CaseIterable {
    case invalidCustomerToken, invalidPublisherToken, accessDenied, invalidArguments
    case parseError, invalidRequest, unknownMethod, internalError, unavailable, tooManyRequests

    /// The number for machines.
    var code: Int64 {
      switch self {
      case .invalidCustomerToken: 1
      case .invalidPublisherToken: 3
      case .accessDenied: 5
      case .invalidArguments: 11
      case .parseError: -32700
      case .invalidRequest: -32600
      case .unknownMethod: -32601
      case .internalError, .unavailable, .tooManyRequests: -32603
      }
    }

    /// The text for people.
    var message: String {
      switch self {
      case .invalidCustomerToken: "Invalid customer token"
      case .invalidPublisherToken: "Invalid publisher token"
      case .accessDenied: "Access denied"
      case .invalidArguments: "Invalid arguments"
      case .parseError: "Parse error"
      case .invalidRequest: "Invalid Request"
      case .unknownMethod: "Method not found"
      case .internalError: "Internal error"
      case .unavailable: "The service cannot answer now"
      case .tooManyRequests: "Too many requests"
      }
    }

    /// The HTTP status. A client that does not read it finds the error in the body.
    var status: Int {
      switch self {
      case .unavailable: 503
      case .tooManyRequests: 429
      default: 200
      }
    }

    /// The seconds after which another call makes sense. No rate makes one read wait for longer than a second.
    var retryAfter: Int? {
      switch self {
      case .unavailable: 2
      case .tooManyRequests: 1
      default: nil
      }
    }
  }
}
