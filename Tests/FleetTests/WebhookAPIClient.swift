import EventLoop
import Fleets
import Formats
import HTTP
import JSON
import TestSupport

/// A publisher's backend that manages its webhooks.
@LoopActor
struct WebhookAPIClient {
  let fleet: RunningFleet
  var publisher = RunningFleet.publisher

  /// An answer with its decoded JSON.
  struct Answer {
    let status: Int
    let headers: HTTPClientResponse
    let body: JSONValue

    /// A member of the body, by its name or its index.
    subscript(path: String...) -> JSONValue? {
      var value = body
      for name in path {
        switch value {
        case .object(let members):
          guard let member = members[name] else { return nil }
          value = member
        case .array(let elements):
          guard let index = Int(name), elements.indices.contains(index) else { return nil }
          value = elements[index]
        default: return nil
        }
      }
      return value
    }

    /// A member that is a text.
    func text(_ name: String) -> String? {
      if case .string(let text) = self[name] { text } else { nil }
    }

    /// A member that is a list, or the body itself.
    func list(_ name: String? = nil) -> [JSONValue] {
      if case .array(let elements) = name.map({ self[$0] }) ?? body { elements } else { [] }
    }
  }

  /// Sends a request; paths start behind `/3.1/`.
  func send(
    _ method: String, _ path: String, _ body: String? = nil, gateway: String = "gateway-1",
    headers: [(name: String, value: String)]? = nil
  ) async throws -> Answer {
    let response = try await fleet.send(
      method, fleet.url("/3.1/" + path, gateway: gateway), headers ?? fleet.headers(publisher), body)
    let json: JSONValue = response.body.isEmpty ? .null : try JSONText(response.body).decoded()
    return Answer(status: response.status, headers: response, body: json)
  }

  /// Creates an endpoint and returns its id and its secret.
  func create(_ members: String) async throws -> (id: String, secret: String) {
    let answer = try await send("POST", "webhook_endpoints", "{\(members)}")
    guard answer.status == 201, let id = answer.text("id") else {
      throw NeverHappened(description: "an endpoint was not created: \(answer.status) \(answer.body)")
    }
    return (id, answer.text("secret") ?? "")
  }
}

extension JSONValue {
  /// A member's text.
  func text(_ name: String) -> String? {
    if case .object(let members) = self, case .string(let text) = members[name] { text } else { nil }
  }

  /// A member's number.
  func number(_ name: String) -> Int64? {
    if case .object(let members) = self, case .integer(let number) = members[name] { number } else { nil }
  }
}
