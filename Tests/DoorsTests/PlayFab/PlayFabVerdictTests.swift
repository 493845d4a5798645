import AppStore
import Domain
import DomainSupport
import Testing

@testable import Doors
@testable import Gateway

/// What PlayFab's door makes of a purchase: each result, and each state of the ledger.
struct PlayFabVerdictTests {
  private typealias Given = AnsweredPurchases

  private static let offers = OfferCatalog([
    Offer(id: "S1", productIds: ["monthly"], catalogVersion: "5"), Offer(id: "A1", productIds: ["coins", "lifetime"]),
  ])
  private let catalog = PlayFabCatalog(offers: offers, version: nil)

  private func item(_ purchase: Purchase, _ catalog: PlayFabCatalog? = nil, of customer: CustomerId = "42")
    -> PlayFabItem?
  {
    PlayFabItem(
      purchase, of: customer, catalog ?? self.catalog, rules: AccessRules(offers: Self.offers, allowsSandbox: false),
      now: Given.now)
  }

  private func verdict(
    _ state: DoorResult.State, _ purchase: Purchase?, _ catalog: PlayFabCatalog? = nil
  ) -> PlayFabVerdict {
    let catalog = catalog ?? self.catalog
    return PlayFabVerdict(state, purchase, purchase.flatMap { item($0, catalog) }, catalog)
  }

  private func verdict(_ result: ResultCode, _ purchase: Purchase? = nil) -> PlayFabVerdict {
    verdict(.finalized(SynchronizationResult(result)), purchase)
  }

  private func error(_ verdict: PlayFabVerdict) -> String? {
    if case .refused(let error) = verdict { "\(error.name) \(error.number) \(error.code)" } else { nil }
  }

  private let subscription = Given.purchase(Given.transaction())
  private let coins = Given.purchase(Given.transaction("300", of: "300", "coins", .consumable, expires: nil))
  private let lifetime = Given.purchase(Given.transaction("200", of: "200", "lifetime", .nonConsumable, expires: nil))
  private let success = SynchronizationResult(.purchaseSynchronized, accessGranted: true)

  // MARK: Results

  @Test func granted() throws {
    for purchase in [subscription, lifetime] {
      #expect(try verdict(.finalized(success), purchase) == .item(#require(self.item(purchase))))
    }
    var first = success
    first.consumable = ConsumableGrant(productId: "coins", quantity: 1, isFirstGrant: true)
    #expect(try verdict(.finalized(first), coins) == .item(#require(self.item(coins))))
    var second = success
    second.consumable = ConsumableGrant(productId: "coins", quantity: 1, isFirstGrant: false)
    #expect(verdict(.finalized(second), coins) == .spent)
  }

  /// The ledger may have changed between the result and the reading.
  @Test func grantedAndGone() {
    let revoked = Given.purchase(
      {
        var facts = Given.transaction()
        facts.revocationDate = Given.now
        return facts
      }())
    #expect(verdict(.finalized(success), revoked) == .over("The purchase no longer gives anything."))
    #expect(verdict(.finalized(success), nil) == .over("The purchase no longer gives anything."))
    let released = Given.purchase(Given.transaction(), owner: nil)
    #expect(verdict(.finalized(success), released) == .over("The purchase no longer gives anything."))
    let other = PlayFabCatalog(offers: Self.offers, version: "6")
    #expect(error(verdict(.finalized(success), subscription, other)) == "NoMatchingCatalogItemForReceipt 1178 400")
  }

  @Test(arguments: [
    (ResultCode.transactionIdNotFound, "InvalidReceipt 1021 400"),
    (.verificationFailed, "InvalidReceipt 1021 400"), (.appMismatch, "InvalidBundleID 1098 400"),
    (.sandboxNotAllowed, "InvalidEnvironmentForReceipt 1300 400"),
    (.offerNotFound, "NoMatchingCatalogItemForReceipt 1178 400"), (.ownershipNotProven, "NotAuthorized 1089 400"),
    (.purchaseOwnedByAnotherCustomer, "ReceiptAlreadyUsed 1022 400"), (.customerErased, "AccountNotFound 1001 400"),
    (.internalError, "DownstreamServiceUnavailable 1127 400"),
    (ResultCode(rawValue: "UNHEARD"), "DownstreamServiceUnavailable 1127 400"),
  ])
  func refused(result: ResultCode, expected: String) {
    #expect(error(verdict(result)) == expected)
  }

  @Test func anotherCustomers() {
    #expect(error(verdict(.purchaseOwnedByAnotherCustomer, subscription)) == "SubscriptionAlreadyTaken 1340 400")
    #expect(error(verdict(.purchaseOwnedByAnotherCustomer, lifetime)) == "ReceiptAlreadyUsed 1022 400")
  }

  @Test func over() {
    #expect(verdict(.receivedExpiredPurchase) == .over("The subscription or the pass has ended."))
    #expect(verdict(.purchaseRevoked) == .over("Apple has taken the purchase back."))
  }

  /// Every result that this version gives has an answer of its own, or is none of a registration.
  @Test func allResults() {
    let others: [ResultCode] = [
      .internalError, .purchaseOwnershipTransferred, .purchaseOwnershipUnchanged, .purchaseNotActive, .purchaseNotFound,
      .purchaseUnclaimed, .offerMismatch, .purchaseSynchronized,
    ]
    for result in ResultCode.known where !others.contains(result) {
      #expect(verdict(result) != .refused(.appleIsSilent), "\(result.rawValue)")
    }
  }

  // MARK: Without a result

  @Test func appleIsSilent() throws {
    #expect(verdict(.accepted, nil) == .refused(.appleIsSilent))
    // The ledger knows these from before, or Apple is away and the publisher grants access.
    #expect(try verdict(.accepted, lifetime) == .item(#require(self.item(lifetime))))
    #expect(verdict(.accepted, coins) == .refused(.appleIsSilent))
    #expect(verdict(.accepted, Given.purchase(Given.transaction(), owner: "43")) == .refused(.appleIsSilent))
    #expect(error(verdict(.failed("away"), lifetime)) == "ServiceUnavailable 1123 503")
  }

  // MARK: Answers of several purchases

  @Test func restored() throws {
    let item = try #require(self.item(lifetime))
    let another = PlayFabVerdict.refused(.subscriptionAlreadyTaken)
    #expect(try PlayFabVerdict.restored([.spent, another, .item(item), .refused(.appleIsSilent)]) == [item])
    #expect(try PlayFabVerdict.restored([.spent, .over("ended")]) == [])
    func error(_ verdicts: PlayFabVerdict...) -> Int64? {
      do throws(PlayFabError) {
        _ = try PlayFabVerdict.restored(verdicts)
        return nil
      } catch {
        return error.number
      }
    }
    #expect(error(.over("ended"), another) == 1022)
    #expect(error(.refused(.invalidReceipt("")), .refused(.appleIsSilent), another) == 1127)
    #expect(error(.refused(.invalidReceipt("")), .refused(.noMatchingCatalogItem(nil))) == 1178)
    #expect(error(.refused(.invalidEnvironment("")), .refused(.unavailable(""))) == 1123)
  }

  @Test func single() throws {
    let item = try #require(self.item(lifetime))
    #expect(try PlayFabVerdict.item(item).single() == item)
    func error(_ verdict: PlayFabVerdict) -> Int64? {
      do throws(PlayFabError) {
        _ = try verdict.single()
        return nil
      } catch {
        return error.number
      }
    }
    #expect(error(.spent) == 1022)
    #expect(error(.over("ended")) == 1021)
    #expect(error(.refused(.notProven)) == 1089)
  }

  // MARK: What leads to errors before

  @Test(arguments: [
    (Rejection.Reason.bundleIdMismatch, "InvalidBundleID 1098 400"), (.appAppleIdMismatch, "InvalidBundleID 1098 400"),
    (.environmentMismatch, "InvalidEnvironmentForReceipt 1300 400"), (.signatureInvalid, "InvalidReceipt 1021 400"),
    (.malformed, "InvalidReceipt 1021 400"), (.kindMismatch, "InvalidReceipt 1021 400"),
    (.transactionReceipt, "InvalidReceipt 1021 400"),
  ])
  func rejections(reason: Rejection.Reason, expected: String) {
    let error = PlayFabError(.rejected(Rejection(reason, "because"), sha256: nil), in: "ReceiptData")
    #expect("\(error.name) \(error.number) \(error.code)" == expected && error.message == "because")
  }

  @Test func otherRefusals() {
    #expect(PlayFabError(.busy, in: "ReceiptData") == .tooManyWaiting)
    #expect(PlayFabError(.tooLarge, in: "JwsReceiptData").details.map(\.member) == ["JwsReceiptData"])
    #expect(PlayFabError(DoorRefusal.unknownCustomer) == .accountNotFound)
    #expect(PlayFabError(.notActivated, in: "ReceiptData") == .notActivated)
    #expect(PlayFabError(DoorRefusal.tooManyWaiting).code == 429)
    #expect(PlayFabError(DoorRefusal.unavailable("away")).code == 503)
  }
}
