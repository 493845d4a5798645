import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON
import Ledger
import Service

/// Cleeng's JSON-RPC API, as far as it is served: `getAccessibleTags`. The credentials stand in the parameters.
@LoopActor
enum CleengRPC {
  /// `POST /3.1/json-rpc`.
  static func answer(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    let call = CleengCall(call.request.body)
    do throws(CleengCall.Failure) {
      return response(id: call.id, .success(try await tags(door, try call.tokens.get())))
    } catch {
      return response(id: call.id, .failure(error))
    }
  }

  private static func tags(
    _ door: DoorContext, _ tokens: CleengCall.Tokens
  ) async throws(CleengCall.Failure) -> [String] {
    let caller = try await caller(door, tokens)
    let key = CustomerKey(publisherId: caller.publisher.id, id: caller.customerId ?? .nobody)
    let found: CustomerPurchases
    do {
      found = try await door.context.asking { try await door.holdings(of: key) }
    } catch {
      throw error.status == 503 ? .unavailable : .internalError
    }
    return CleengEntitlement.tags(key, holdings: found, publisher: caller.publisher, now: door.now)
  }

  /// Checks both tokens: the customer must be the publisher's. The call counts as a read with each of them.
  private static func caller(
    _ door: DoorContext, _ tokens: CleengCall.Tokens
  ) async throws(CleengCall.Failure) -> Caller {
    let authenticator = door.authentication.authenticator
    let (publisher, customer): (Caller, Caller)
    do {
      publisher = try authenticator.publisher(tokens.publisher)
    } catch {
      throw error.status == 503 ? .unavailable : .invalidPublisherToken
    }
    do {
      customer = try authenticator.customer(tokens.customer)
    } catch {
      throw error.status == 503 ? .unavailable : .invalidCustomerToken
    }
    do { try publisher.require(.read) } catch { throw .accessDenied }
    guard publisher.publisher.id == customer.publisher.id, publisher.publisher.doors.cleeng != nil else {
      throw .accessDenied
    }
    do {
      // A customer beyond its rate takes nothing of the publisher's.
      try await door.limit.admit(customer)
      try await door.limit.admit(publisher)
    } catch { throw .tooManyRequests }
    return customer
  }

  /// The members stand in Cleeng's order.
  nonisolated static func response(id: String?, _ result: Result<[String], CleengCall.Failure>) -> HTTPServerResponse {
    var status = 200
    let body = JSONWriter.object { writer in
      switch result {
      case .success(let tags):
        writer.member("result") { $0.member("tags", array: tags.map(JSONWriter.text)) }
        writer.member("id", json: id.map(JSONWriter.text) ?? JSONWriter.null)
        writer.member("error", json: JSONWriter.null)
      case .failure(let failure):
        status = failure.status
        writer.member("result", json: JSONWriter.null)
        writer.member("id", json: id.map(JSONWriter.text) ?? JSONWriter.null)
        writer.member("error") { error in
          error.member("code", failure.code)
          error.member("message", failure.message)
        }
      }
      writer.member("jsonrpc", "2.0")
    }
    var response = jsonResponse(status, written: body)
    if let seconds = failure(of: result)?.retryAfter { response.headers.append(("Retry-After", String(seconds))) }
    return response
  }

  private nonisolated static func failure(of result: Result<[String], CleengCall.Failure>) -> CleengCall.Failure? {
    if case .failure(let failure) = result { failure } else { nil }
  }
}
