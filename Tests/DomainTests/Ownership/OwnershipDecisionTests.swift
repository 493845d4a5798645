import Domain
import DomainSupport
import Testing

/// Who becomes the owner of a purchase.
struct OwnershipDecisionTests {
  private static let token: AppAccountToken = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  private func decide(
    owner: CustomerId?, token: AppAccountToken? = nil, signed: AppAccountToken? = nil, ownership: String? = "PURCHASED",
    carriesTransaction: Bool = false, _ proof: OwnershipPolicy.Proof = .none,
    _ restore: OwnershipPolicy.Restore = .refuse, givesAccess: Bool = true
  ) -> OwnershipDecision {
    let facts = TestPurchases.transaction(expires: 30, ownership: ownership, token: signed)
    return .decide(
      TestPurchases.purchase(facts, owner: owner), customerId: "me", appAccountToken: token,
      provesBySignedTransaction: carriesTransaction, policy: OwnershipPolicy(proof: proof, restore: restore),
      givesAccess: givesAccess)
  }

  private static let proofs: [OwnershipPolicy.Proof] = [.none, .appAccountToken(derivation: nil), .signedTransaction]

  @Test(arguments: [true, false])
  func `without a proof, the first customer owns the purchase, also without access`(givesAccess: Bool) {
    #expect(decide(owner: nil, givesAccess: givesAccess) == .take(.registration))
  }

  @Test func `the owner stays the owner and need not prove it again`() {
    for proof in Self.proofs {
      for restore in OwnershipPolicy.Restore.allCases { #expect(decide(owner: "me", proof, restore) == .keep) }
    }
  }

  @Test func `customers are their bytes`() {
    let purchase = TestPurchases.purchase(TestPurchases.transaction(), owner: "\u{212A}")
    for (customer, decision) in [("\u{212A}", OwnershipDecision.keep), ("K", .refuse(.ownedByAnother))] {
      #expect(
        OwnershipDecision.decide(
          purchase, customerId: CustomerId(customer), appAccountToken: nil, provesBySignedTransaction: false,
          policy: OwnershipPolicy(), givesAccess: true) == decision)
    }
    #expect(Owner(customerId: "K", subscriptionId: 1) != Owner(customerId: "\u{212A}", subscriptionId: 1))
    #expect(Owner(customerId: "K", subscriptionId: 1) != Owner(customerId: "K", subscriptionId: 2))
  }

  @Test func `what happens to another's purchase is the publisher's choice`() {
    for givesAccess in [true, false] {
      #expect(decide(owner: "other", .none, .refuse, givesAccess: givesAccess) == .refuse(.ownedByAnother))
      #expect(decide(owner: "other", .none, .transfer, givesAccess: givesAccess) == .take(.restore))
    }
    #expect(decide(owner: "other", .none, .transferIfInactive, givesAccess: true) == .refuse(.ownedByAnother))
    #expect(decide(owner: "other", .none, .transferIfInactive, givesAccess: false) == .take(.restore))
  }

  @Test func `the proof is needed for a restore, too`() {
    for proof in Self.proofs.dropFirst() {
      #expect(decide(owner: nil, proof) == .refuse(.notProven))
      for restore in OwnershipPolicy.Restore.allCases {
        #expect(decide(owner: "other", proof, restore, givesAccess: false) == .refuse(.ownedByAnother))
      }
    }
    #expect(decide(owner: "other", carriesTransaction: true, .signedTransaction, .transfer) == .take(.restore))
    #expect(
      decide(owner: "other", token: Self.token, signed: Self.token, .appAccountToken(derivation: nil), .transfer)
        == .take(.restore))
  }

  @Test func `a signed transaction proves only where the publisher asks for it`() {
    #expect(decide(owner: nil, carriesTransaction: true, .signedTransaction) == .take(.registration))
    #expect(
      decide(owner: nil, carriesTransaction: true, .appAccountToken(derivation: nil)) == .refuse(.notProven))
    #expect(decide(owner: nil, token: Self.token, signed: Self.token, .signedTransaction) == .refuse(.notProven))
  }

  // MARK: appAccountToken

  @Test func `Apple's token must be the customer's`() {
    func proves(_ token: AppAccountToken?, _ signed: AppAccountToken?, ownership: String? = "PURCHASED") -> Bool {
      decide(owner: nil, token: token, signed: signed, ownership: ownership, .appAccountToken(derivation: nil))
        == .take(.registration)
    }
    #expect(proves(Self.token, Self.token))
    #expect(proves(AppAccountToken(Self.token.text.uppercased()), Self.token))
    #expect(proves(Self.token, Self.token, ownership: nil))
    #expect(!proves(Self.token, "7ba7b810-9dad-11d1-80b4-00c04fd430c8"))
    #expect(!proves(Self.token, nil) && !proves(nil, Self.token) && !proves(nil, nil))
    #expect(!proves("", "") && !proves("me", "me"))
    // Apps send it when they have no customer at hand.
    let zeros: AppAccountToken = "00000000-0000-0000-0000-000000000000"
    #expect(!proves(zeros, zeros))
    #expect(!proves(Self.token, Self.token, ownership: "FAMILY_SHARED"))
  }

  @Test func `a derived token is that of a customer without a token of their own`() {
    let derivation = OwnershipPolicy.TokenDerivation.uuidV5(namespace: Array(0..<16))
    let proof = OwnershipPolicy.Proof.appAccountToken(derivation: derivation)
    let (mine, others) = (derivation.token(of: "me"), derivation.token(of: "other"))
    #expect(decide(owner: nil, signed: mine, proof) == .take(.registration))
    #expect(decide(owner: nil, signed: others, proof) == .refuse(.notProven))
    #expect(decide(owner: nil, token: Self.token, signed: mine, proof) == .refuse(.notProven))
    #expect(decide(owner: nil, token: Self.token, signed: Self.token, proof) == .take(.registration))
  }

  /// The token of the deciding transaction counts: an app can give a renewal another one.
  @Test func `the token of the present period counts`() {
    let old = TestPurchases.transaction("1", bought: 0, expires: 30, token: Self.token)
    let new = TestPurchases.transaction("2", bought: 30, expires: 60)
    let decision = OwnershipDecision.decide(
      TestPurchases.purchase(old, new), customerId: "me", appAccountToken: Self.token,
      provesBySignedTransaction: false, policy: OwnershipPolicy(proof: .appAccountToken(derivation: nil)),
      givesAccess: true)
    #expect(decision == .refuse(.notProven))
  }
}
