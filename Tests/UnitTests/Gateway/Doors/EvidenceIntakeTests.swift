import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import Testing

@testable import Gateway

/// What the gateway reads at a time, and how much of it.
@LoopActor
struct EvidenceIntakeTests {
  private let publisher: Publisher
  private let other: Publisher
  private let authority: TestAuthority
  private let intake: EvidenceIntake

  init() throws {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: 1, issuerId: "i", keyId: "k", privateKey: try P256PrivateKey.generate(),
      environments: ["Sandbox"])
    func publisher(_ id: Int64) -> Publisher {
      Publisher(
        id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [app], offers: OfferCatalog([]),
        webhooks: [])
    }
    (self.publisher, other) = (publisher(7), publisher(8))
    authority = try TestAuthority()
    intake = EvidenceIntake(roots: nil, try authority.verifier(), atOnce: 1)
  }

  /// A signed transaction with so many bytes of a member that nobody knows.
  private func signed(filler: Int) throws -> String {
    try authority.sign(
      """
      {"bundleId":"com.example","environment":"Sandbox","originalTransactionId":"1","productId":"monthly",\
      "purchaseDate":1720000000000,"signedDate":\(TestAuthority.signedDate),"transactionId":"2",\
      "type":"Auto-Renewable Subscription","later":"\(String(repeating: "x", count: filler))"}
      """)
  }

  /// Why a text is not read, by its name; `nil` if it is.
  private func refusal(jws: String, of publisher: Publisher? = nil) async -> String? {
    await refusal { () async throws(EvidenceRefusal) in
      try await intake.signedTransaction(jws, publisher: publisher ?? self.publisher)
    }
  }

  private func refusal(receipt: String, of publisher: Publisher? = nil) async -> String? {
    await refusal { () async throws(EvidenceRefusal) in
      try await intake.receipt(receipt, publisher: publisher ?? self.publisher)
    }
  }

  private func refusal(
    _ read: @LoopActor () async throws(EvidenceRefusal) -> LocalEvidence
  ) async -> String? {
    do throws(EvidenceRefusal) {
      _ = try await read()
      return nil
    } catch {
      switch error {
      case .rejected(let rejection): return rejection.reason.rawValue
      case .tooLarge: return "too large"
      case .busy: return "busy"
      }
    }
  }

  @Test func `a signed transaction of any size up to the limit is read`() async throws {
    // 1,500,000 bytes are 2,000,000 in base64url, nearly 2 MiB.
    for filler in [0, EvidenceIntake.longestOnLoop, 1_500_000] {
      let jws = try signed(filler: filler)
      #expect(jws.utf8.count <= EvidenceIntake.longest)
      let found = try await intake.signedTransaction(jws, publisher: publisher)
      #expect(found.purchases.map(\.transactionId) == ["2"], "\(filler)")
    }
  }

  @Test func `a longer text is refused unread`() async {
    #expect(await refusal(jws: String(repeating: "A", count: EvidenceIntake.longest + 1)) == "too large")
  }

  @Test func `long texts wait in a line with an end, and short transactions pass it`() async throws {
    let long = String(repeating: "A", count: EvidenceIntake.longest)
    // 64 MiB may wait, three of four of them one publisher's.
    var waiting = (0..<24).map { _ in Task.immediate { @LoopActor in await refusal(jws: long) } }
    #expect(await refusal(jws: long) == "busy")
    // A receipt has the same line.
    #expect(await refusal(receipt: "AAAA") == "busy")
    // The rest of it is another publisher's.
    waiting += (0..<8).map { _ in Task.immediate { @LoopActor in await refusal(jws: long, of: other) } }
    #expect(await refusal(receipt: "AAAA", of: other) == "busy")
    let short = try await intake.signedTransaction(signed(filler: 0), publisher: publisher)
    #expect(short.purchases.count == 1)
    for task in waiting { #expect(await task.value == "malformed") }
    // The line is empty again.
    #expect(await refusal(receipt: "AAAA") == "malformed")
    let next = try await intake.signedTransaction(signed(filler: 100_000), publisher: publisher)
    #expect(next.purchases.count == 1)
  }
}
