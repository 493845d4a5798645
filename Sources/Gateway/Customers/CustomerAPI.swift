import Coordination
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Service

/// Answers a publisher's requests about its customers. The ledger has them; Redis has short-lived copies, which
/// registrations need while the ledger is away.
@LoopActor
struct CustomerAPI {
  let context: RoleContext
  let ledger: CustomerStore
  let copies: CustomerCopies
  let publisher: Publisher

  func put(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let customer = try requestedCustomer(call[.customerId], call.request)
    let answer = try await context.asking { try await ledger.put(publisher.id, customer) }
    guard answer != .emailInUse else {
      throw .conflict("email: another customer of the publisher has this address; GET /customers?email= finds it.")
    }
    await noteRegistered(customer.id)
    return jsonResponse(answer == .created ? 201 : 200, CustomerBody(customer))
  }

  func read(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try customerId(call[.customerId])
    guard let customer = try await context.asking({ try await ledger.customer(publisher.id, id) }) else {
      throw .noCustomer
    }
    return jsonResponse(200, CustomerBody(customer))
  }

  func find(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let email = try requestedEmail(call.request)
    let found = try await context.asking { try await ledger.customer(publisher.id, email: email) }
    return jsonResponse(200, CustomerList(customers: found.map { [CustomerBody($0)] } ?? []))
  }

  func delete(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try customerId(call[.customerId])
    // First, so that no copy outlives the customer. If the erasure fails, registrations ask the ledger.
    try await context.asking { try await copies.noteErased(publisher.id, id) }
    guard let erasure = try await context.asking({ try await ledger.erase(publisher.id, id, now: context.now()) })
    else {
      throw .notFound(
        "The ledger knows nothing about this customer. What was registered for it until now finalizes without an owner."
      )
    }
    context.log.info("customer erased", ["publisherId": .int(publisher.id.number)])
    return jsonResponse(200, ErasureAnswer(erasure))
  }

  func export(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = try customerId(call[.customerId])
    guard let document = try await context.asking({ try await ledger.export(publisher.id, id, now: context.now()) })
    else { throw .noCustomer }
    return jsonResponse(200, written: document)
  }

  /// Notes a copy. Without it the next registration asks the ledger.
  private func noteRegistered(_ id: CustomerId) async {
    do {
      try await copies.noteRegistered(publisher.id, id)
    } catch {
      context.log.warning(
        "a customer's copy was not stored", ["publisherId": .int(publisher.id.number), "cause": .failure(error)])
    }
  }

  private struct CustomerList: Encodable {
    let customers: [CustomerBody]
  }
}
