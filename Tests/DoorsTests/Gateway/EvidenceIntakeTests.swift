import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import Glibc
import HTTPServer
import RoleSupport
import TestSupport
import Testing

@testable import Doors
@testable import Gateway

/// What the gateway reads at a time, and how much of it.
@LoopActor
struct EvidenceIntakeTests {
  private let publisher: Publisher
  private let other: Publisher
  /// A publisher who gives access while Apple is away.
  private let generous: Publisher
  private let authority: TestAuthority
  private let intake: EvidenceIntake

  init() throws {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: 1, issuerId: "i", keyId: "k", privateKey: try P256PrivateKey.generate(),
      environments: ["Sandbox"])
    publisher = Self.publisher([app])
    generous = Self.publisher([app], grant: GrantWhileAppleIsAway())
    other = Self.publisher([app], id: 8)
    authority = try TestAuthority()
    intake = EvidenceIntake(roots: nil, try authority.verifier(), atOnce: 1)
  }

  private static func publisher(
    _ apps: [Publisher.App], id: Int64 = 7, grant: GrantWhileAppleIsAway? = nil
  ) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps, offers: OfferCatalog([]),
      grantWhileAppleIsAway: grant, webhooks: [])
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
      case .rejected(let rejection, _): return rejection.reason.rawValue
      case .notActivated: return "not activated"
      case .tooLarge: return "too large"
      case .busy: return "busy"
      }
    }
  }

  @Test(arguments: [(EvidenceIntake.longestBodyOnLoop, true), (EvidenceIntake.longestBodyOnLoop + 1, false)])
  func `only a short body is read on the loop`(bytes: Int, isOnLoop: Bool) async throws {
    let request = HTTPServerRequest(method: "POST", path: ["door"], body: Array(repeating: 0x20, count: bytes))
    let loop = pthread_self()
    let read = try await intake.reading(request, of: publisher.id) { (request) throws(Rejection) in
      (size: request.body.count, isOnLoop: pthread_equal(pthread_self(), loop) != 0)
    }.get()
    #expect(read.size == bytes && read.isOnLoop == isOnLoop)
  }

  @Test func `what a body's reader throws comes back from beside the loop`() async throws {
    for bytes in [1, EvidenceIntake.longestBodyOnLoop + 1] {
      let request = HTTPServerRequest(method: "POST", path: ["door"], body: Array(repeating: 0x20, count: bytes))
      let read = try await intake.reading(request, of: publisher.id) { (request) throws(Rejection) -> Int in
        throw Rejection(.malformed, "\(request.body.count) bytes")
      }
      #expect(throws: Rejection(.malformed, "\(bytes) bytes")) { try read.get() }
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

  @Test func `only a publisher who gives access while Apple is away keeps what Apple signed`() async throws {
    for filler in [0, EvidenceIntake.longestOnLoop] {
      let jws = try signed(filler: filler)
      let plain = try await intake.signedTransaction(jws, publisher: publisher)
      #expect(plain.piece(of: plain.purchases[0]) == nil)
      let kept = try await intake.signedTransaction(jws, publisher: generous)
      let piece = try #require(kept.piece(of: kept.purchases[0]))
      let parts = [Base64URL.encode(piece.payload), Base64URL.encode(piece.signature)]
      let text = "\(String(decoding: piece.signedHeader, as: UTF8.self)).\(parts.joined(separator: "."))"
      #expect(piece.source == .client && text.exact == jws.exact)
    }
  }

  @Test func `a publisher without an app is told so, whatever its client sends`() async throws {
    let nobody = Self.publisher([])
    let jws = try signed(filler: 0)
    for text in [EvidenceText.signedTransaction(jws), .signedTransaction("x"), .receipt("x")] {
      do throws(EvidenceRefusal) {
        _ = try await intake.read(text, publisher: nobody)
        Issue.record("it was read")
      } catch {
        let answer = IapticError.of(error)
        #expect(answer == .internalError("The publisher has no app.") && answer.status == 500)
        #expect(PlayFabError(error, in: "ReceiptData") == .notActivated && MbaasyError(error).status == 422)
      }
    }
  }

  @Test func `a rejected receipt has its hash, without white space`() async throws {
    do throws(EvidenceRefusal) {
      _ = try await intake.receipt("AA\nAA ", publisher: publisher)
      Issue.record("it was read")
    } catch {
      guard case .rejected(_, let sha256) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(sha256 == SHA256.hash(Array("AAAA".utf8)))
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
