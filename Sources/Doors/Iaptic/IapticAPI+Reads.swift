import Domain
import EventLoop
import Formats
import Gateway
import HTTPServer
import JSON
import Ledger
import Service

extension IapticAPI {
  /// `GET /v2/customers/{applicationUsername}/purchases`.
  static func purchases(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answering(door, call) { reader throws(IapticReadError) in
      let user = call[.applicationUsername]
      let customer = try reader.customer(user)
      let purchases = try await reader.purchases(of: customer)
      let rules = reader.publisher.accessRules(for: customer.id, owning: purchases)
      let shown = purchases.flatMap { IapticPurchase.of($0, rules: rules, now: door.now) }.map { purchase in
        var purchase = purchase
        purchase.entitledUsers = [user]
        return purchase
      }
      return jsonResponse(
        200,
        written: JSONWriter.object { answer in
          answer.member("applicationUsername", user)
          answer.member("purchases", json: IapticPurchase.collection(shown))
        })
    }
  }

  /// `GET /v1/customers/{applicationUsername}/subscription`.
  static func subscription(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answering(door, call) { reader throws(IapticReadError) in
      let user = call[.applicationUsername]
      let customer = try reader.customer(user)
      let purchases = try await reader.purchases(of: customer)
      let rules = reader.publisher.accessRules(for: customer.id, owning: purchases)
      return jsonResponse(
        200,
        written: JSONWriter.object { answer in
          answer.member("id", user)
          answer.member("createdAt", purchases.compactMap(\.createdAt).min().map(rfc3339(milliseconds:)))
          answer.member("updatedAt", purchases.compactMap(\.updatedAt).max().map(rfc3339(milliseconds:)))
          let subscriptions = IapticSubscriber.subscriptions(purchases, rules: rules, now: door.now)
          guard let subscription = subscriptions.first else { return }
          answer.member("subscription") { $0.write(subscription) }
        })
    }
  }

  /// `GET /v2/customers`: a page of all customers, or the named ones.
  static func customers(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    await answering(door, call, reads: IapticCustomersRequest.reads) { reader throws(IapticReadError) in
      let request = try IapticCustomersRequest(call.request)
      let page = try await reader.page(request)
      var rows: [IapticSubscriber] = []
      for row in page.rows {
        let rules = reader.publisher.accessRules(for: reader.id(of: row.user), owning: row.found.purchases)
        rows.append(IapticSubscriber(row.user, row.found.purchases, rules: rules, now: door.now))
      }
      return jsonResponse(
        200,
        written: JSONWriter.object { answer in
          answer.member("paging") { paging in
            paging.member("skip", Int64(page.skip))
            paging.member("limit", Int64(page.limit))
            paging.member("total", page.total)
          }
          answer.member("rows", rows) { $0.write(to: &$1) }
        })
    }
  }

  /// - Parameter reads: how many reads a request costs; one, if not said.
  private static func answering(
    _ door: DoorContext, _ call: DoorCall, reads: (HTTPServerRequest) throws(IapticReadError) -> Int = { _ in 1 },
    _ answer: @LoopActor (IapticReader) async throws(IapticReadError) -> HTTPServerResponse
  ) async -> HTTPServerResponse {
    do throws(IapticReadError) {
      guard let credential = IapticCredential(call.request) else { throw IapticReadError.missingCredential }
      let found = credential.reader(door.context.publishers, now: door.now)
      if case .broken = found { throw IapticReadError.brokenPublisher }
      guard let publisher = found.found, let policy = publisher.doors.iaptic?.policy
      else { throw IapticReadError.wrongCredential }
      let reads = try reads(call.request)
      do { try await door.limit.admit(publisher, at: .iaptic, reads: reads) } catch { throw IapticReadError(error) }
      return try await answer(IapticReader(door: door, publisher: publisher, policy: policy))
    } catch {
      return error.response
    }
  }
}

extension JSONWriter {
  /// Writes the members of a subscription of `/v1`: plain product ids, and dates in milliseconds since 1970.
  fileprivate mutating func write(_ subscription: IapticPurchase) {
    member("productId", subscription.productId)
    member("expiresAt", subscription.expirationDate)
    member("renewedAt", subscription.lastRenewalDate ?? subscription.purchaseDate)
    member("subscribedAt", subscription.purchaseDate)
    member("transactionId", "ios-" + subscription.transactionId.text)
    member("subscriptionId", "ios-" + subscription.purchaseId.text)
  }
}
