public import Domain
import EventLoop
import Formats
public import HTTP
import HTTPClient

/// How one fetch of a key set ended.
public enum KeySetFetch: Sendable {
  case fetched(JSONWebKeySet, maxAge: Duration?)
  case failed(Failure, cause: String)

  /// Why a fetch brought no keys; labels of `countersign_jwks_fetches_total`.
  public enum Failure: String, CaseIterable, Sendable {
    /// No connection, no trust, or no answer in time.
    case unreachable
    /// Another status than 200. Nobody follows a redirect.
    case status
    /// The body is no set with a usable key, or too long.
    case unusable
  }

  /// Fetches a set. Each fetch has a client of its own: fetches are rare, and their trust may differ.
  ///
  /// - Parameter timeout: the time for the whole fetch.
  @LoopActor
  public static func run(_ address: KeySetAddress, timeout: Duration = .seconds(5)) async -> KeySetFetch {
    var configuration = HTTPClientConfiguration()
    configuration.caFile = address.caFile
    configuration.keepsConnections = false
    // The reader of the address has refused http:// unless the operator allows it.
    configuration.allowsPlainHTTP = true
    let client = HTTPClient(configuration)
    defer { client.close() }
    let request = HTTPClientRequest(
      "GET", address.url, headers: [("Accept", "application/jwk-set+json, application/json")], timeout: timeout,
      maxResponseBytes: JSONWebKeySet.mostBytes)
    do {
      return KeySetFetch(try await client.send(request))
    } catch {
      return .failed(error.code == .responseTooLarge ? .unusable : .unreachable, cause: "\(error)")
    }
  }

  /// Reads an answer.
  public init(_ response: HTTPClientResponse) {
    guard response.status == 200 else {
      self = .failed(.status, cause: "HTTP \(response.status)")
      return
    }
    do throws(JSONWebKeySet.Unusable) {
      let set = try JSONWebKeySet(response.body)
      self = .fetched(set, maxAge: response.header("Cache-Control").flatMap(Self.maxAge))
    } catch {
      self = .failed(.unusable, cause: error.description)
    }
  }

  /// The `max-age` of a `Cache-Control` field (RFC 9111, section 5.2); `nil` without one. A set that must not be kept
  /// counts as old at once.
  public static func maxAge(_ field: String) -> Duration? {
    var age: Duration?
    for directive in field.lowercased().split(separator: ",") {
      let words = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
      switch words.first {
      case "no-store", "no-cache": return .zero
      case "max-age": age = words.count == 2 && words[1].isASCIIDigits(1...9) ? .seconds(Int64(words[1]) ?? 0) : age
      default: break
      }
    }
    return age
  }
}
