import AppStore
import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON
import Ledger
import Postgres
import Service

/// The upload of one receipt, from the request to its answer.
@LoopActor
struct MbaasyUpload {
  private let door: DoorContext
  private let caller: MbaasyAuthentication
  private var request: MbaasyRequest
  /// The customer's id with the door's prefix; `nil` if the app named no user.
  private let customer: CustomerId?
  /// The address that is kept with the purchases.
  private let address: String?
  private let traceparent: String?
  private let origin: RequestOrigin

  /// Checks the credential and the payload.
  ///
  /// - Throws: ``MbaasyError``: 401, 422, 503.
  init(_ door: DoorContext, _ call: HTTPServerRequest) async throws(MbaasyError) {
    self.door = door
    caller = try MbaasyAuthentication(call, door.context.publishers, now: door.now)
    let policy = caller.door.policy
    defer { call.forgetBody() }
    let read: Result<MbaasyRequest, MbaasyError>
    do {
      read = try await door.evidence.reading(call, of: caller.publisher.id) { (call) throws(MbaasyError) in
        try MbaasyRequest(call.body, policy)
      }
    } catch {
      throw MbaasyError(error)
    }
    request = try read.get()
    customer = request.userIdentifier.map(policy.customerId)
    address =
      switch request.address {
      case .ofClient: call.origin.client
      case .named(let text): text
      case .notKept: nil
      }
    traceparent = call.header("traceparent")
    origin = call.origin
  }

  /// Verifies the receipt, registers its purchases, waits for Apple, and shows what the ledger knows then.
  mutating func answer() async throws(MbaasyError) -> HTTPServerResponse {
    let evidence: LocalEvidence
    do {
      evidence = try await door.evidence.receipt(
        request.receipt, publisher: caller.publisher, bundleId: caller.bundleId, from: origin)
    } catch {
      guard case .rejected(let rejection, let sha256?) = error, rejection.isForgery else { throw MbaasyError(error) }
      return try await forged(rejection, sha256)
    }
    request.forgetReceipt()
    let results = try await registered(evidence)
    let verdict = try MbaasyVerdict(results.map { MbaasyVerdict.Part($0.state) })
    var answer = MbaasyAnswer(
      request, of: caller, sha256: evidence.sha256 ?? [], ipAddress: address, createdAt: evidence.createdAt)
    (answer.bundleId, answer.environment) = (evidence.bundleId, evidence.environment.text.lowercased())
    answer.purchases = try await known(results.map(\.key), verdict)
    return answer.response(verdict == .validated ? 200 : 206)
  }

  /// Registers the purchases of a receipt, and waits for Apple's answers.
  private func registered(_ evidence: LocalEvidence) async throws(MbaasyError) -> [DoorResult] {
    let attributes = PurchaseAttributes(
      countryCode: request.countryCode, identifierForVendor: request.identifierForVendor, ipAddress: address,
      metadata: request.metadata)
    do {
      return try await door.registration.register(
        evidence.purchases,
        DoorRequest(
          publisher: caller.publisher, door: .mbaasy, customerId: customer, attributes: attributes,
          ipAddress: address, evidence: evidence, traceparent: traceparent),
        wait: door.context.settings.gateway.doors.wait(at: .mbaasy))
    } catch {
      throw MbaasyError(error)
    }
  }

  /// The purchases of the receipt that the ledger knows, as the customer may see them.
  private func known(_ keys: [PurchaseKey], _ verdict: MbaasyVerdict) async throws(MbaasyError) -> [MbaasyPurchase] {
    do {
      let found = try await door.context.asking { try await door.purchases(keys) }
      return MbaasyPurchase.shown(keys.compactMap { found[$0] }, to: customer, caller, now: door.now)
    } catch {
      // The jobs are queued, and the client must not take them for lost.
      guard verdict == .validated else { return [] }
      throw .unavailable("The receipt is validated, and its purchases cannot be read now; send it again.")
    }
  }

  /// Keeps an attempted fraud, and tells the app.
  private func forged(_ rejection: Rejection, _ sha256: [UInt8]) async throws(MbaasyError) -> HTTPServerResponse {
    // The entry names the receipt by its hash, and no customer.
    let entry = AuditEntry(
      publisherId: caller.publisher.id, actor: .app, action: "receipt.forged", subject: Hex.encode(sha256),
      detail: JSONWriter.object { detail in
        detail.member("bundleId", caller.bundleId)
        detail.member("door", Door.mbaasy.rawValue)
        detail.member("reason", rejection.reason.rawValue)
      })
    do {
      let app = RefusalAllowance.Sender(
        .mbaasy, publisherId: caller.publisher.id, name: ExactText(caller.bundleId.text))
      try await door.context.asking { try await audit(entry, sha256, of: app) }
    } catch {
      throw .unavailable("The ledger cannot be used now; send the receipt again.")
    }
    var answer = MbaasyAnswer(request, of: caller, sha256: sha256, ipAddress: address, createdAt: door.now)
    answer.fraudReason = rejection.text
    return answer.response(402)
  }

  /// Writes a row of the audit log about a forged receipt, unless it has enough of them.
  private func audit(_ entry: AuditEntry, _ sha256: [UInt8], of app: RefusalAllowance.Sender) async throws {
    guard door.refusals.admits(sha256, of: app, now: door.now) else { return }
    _ = try await door.postgres.run(AuditEntry.insert([entry]))
  }
}
