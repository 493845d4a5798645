import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import Glibc
import HTTPServer
import Observability
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
  private let metrics = Metrics()
  private let intake: EvidenceIntake
  private let client = RequestOrigin(peer: "192.0.2.1")

  init() throws {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: 1, issuerId: "i", keyId: "k", privateKey: try P256PrivateKey.generate(),
      environments: ["Sandbox"])
    publisher = Self.publisher([app])
    generous = Self.publisher([app], grant: GrantWhileAppleIsAway())
    other = Self.publisher([app], id: 8)
    authority = try TestAuthority()
    intake = EvidenceIntake(roots: nil, try authority.verifier(), atOnce: 1, metrics)
  }

  private static func publisher(
    _ apps: [Publisher.App], id: PublisherId = 7, grant: GrantWhileAppleIsAway? = nil
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
  private func refusal(jws: String, of publisher: Publisher? = nil, from address: Int = 1) async -> String? {
    await refusal { () async throws(EvidenceRefusal) in
      try await intake.signedTransaction(
        jws, publisher: publisher ?? self.publisher, from: RequestOrigin(peer: "192.0.2.\(address)"))
    }
  }

  private func refusal(receipt: String, of publisher: Publisher? = nil, from address: Int = 1) async -> String? {
    await refusal { () async throws(EvidenceRefusal) in
      try await intake.receipt(
        receipt, publisher: publisher ?? self.publisher, from: RequestOrigin(peer: "192.0.2.\(address)"))
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
      let found = try await intake.signedTransaction(jws, publisher: publisher, from: client)
      #expect(found.purchases.map(\.transactionId) == ["2"], "\(filler)")
    }
  }

  @Test func `only a publisher who gives access while Apple is away keeps what Apple signed`() async throws {
    for filler in [0, EvidenceIntake.longestOnLoop] {
      let jws = try signed(filler: filler)
      let plain = try await intake.signedTransaction(jws, publisher: publisher, from: client)
      #expect(plain.piece(of: plain.purchases[0]) == nil)
      let kept = try await intake.signedTransaction(jws, publisher: generous, from: client)
      let piece = try #require(kept.piece(of: kept.purchases[0]))
      let parts = [Base64URL.encode(piece.payload), Base64URL.encode(piece.signature)]
      let text = "\(String(decoding: piece.signedHeader, as: UTF8.self)).\(parts.joined(separator: "."))"
      #expect(piece.source == .client && text.isExactly(jws))
    }
  }

  @Test func `a publisher without an app is told so, whatever its client sends`() async throws {
    let nobody = Self.publisher([])
    let jws = try signed(filler: 0)
    for text in [EvidenceText.signedTransaction(jws), .signedTransaction("x"), .receipt("x")] {
      do throws(EvidenceRefusal) {
        _ = try await intake.read(text, publisher: nobody, from: client)
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
      _ = try await intake.receipt("AA\nAA ", publisher: publisher, from: client)
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
    // 64 MiB may wait, a quarter of them one address', three of four of them one publisher's.
    var waiting = (0..<24).map { number in
      Task.immediate { @LoopActor in await refusal(jws: long, from: 1 + number / 8) }
    }
    // A receipt has the same line.
    #expect(await refusal(receipt: "AAAA") == "busy")
    #expect(await refusal(jws: long, from: 2) == "busy")
    // The rest of it is another publisher's.
    waiting += (0..<8).map { _ in Task.immediate { @LoopActor in await refusal(jws: long, of: other) } }
    #expect(await refusal(receipt: "AAAA", of: other) == "busy")
    let short = try await intake.signedTransaction(signed(filler: 0), publisher: publisher, from: client)
    #expect(short.purchases.count == 1)
    for task in waiting { #expect(await task.value == "malformed") }
    let text = metrics.text()
    #expect(text.contains(#"countersign_evidence_refused_total{cause="address_share"} 1"#))
    #expect(text.contains(#"countersign_evidence_refused_total{cause="publisher_share"} 2"#))
    #expect(text.contains("countersign_evidence_waiting 0"))
    // The line is empty again.
    #expect(await refusal(receipt: "AAAA") == "malformed")
    let next = try await intake.signedTransaction(signed(filler: 100_000), publisher: publisher, from: client)
    #expect(next.purchases.count == 1)
  }

  /// What has been read, in its order.
  private final class Order {
    var names: [String] = []
  }

  @Test func `another publisher's receipt is read next, however many one address has in the line`() async throws {
    let order = Order()
    var tasks = (0..<512).map { _ in
      Task.immediate { @LoopActor in
        #expect(await refusal(receipt: "AAAA") == "malformed")
        order.names.append("stranger's")
      }
    }
    #expect(await refusal(receipt: "AAAA") == "busy")
    #expect(metrics.text().contains("countersign_evidence_waiting 511"))
    tasks.append(
      Task.immediate { @LoopActor in
        #expect(await refusal(receipt: "AAAA", of: other) == "malformed")
        order.names.append("other's")
      })
    tasks.append(
      Task.immediate { @LoopActor in
        #expect(await refusal(receipt: "AAAA", from: 2) == "malformed")
        order.names.append("customer's")
      })
    for task in tasks { await task.value }
    // One was being read, and one of the strangers had the turn of its publisher already.
    #expect(order.names.prefix(5) == ["stranger's", "stranger's", "other's", "customer's", "stranger's"])
    #expect(order.names.count == 514)
  }

  @Test func `whoever gives way is told at once, and everybody else is read`() async throws {
    let line = EvidenceLine(EvidenceTurns.Limits(atOnce: 1, most: .init(texts: 8, bytes: 800)), Metrics())
    let order = Order()
    func read(_ name: String, of publisher: PublisherId, from address: Int) -> Task<Void, Never> {
      Task.immediate { @LoopActor in
        let source = EvidenceTurns.Source(publisher: publisher, address: AddressGroup("192.0.2.\(address)"))
        let value = await line.read(1, of: source) { name }
        order.names.append(value ?? "not \(name)")
      }
    }
    var tasks = [1, 1, 2, 2, 3].enumerated().map { read("\($0.offset)", of: 7, from: $0.element) }
    tasks += ["5", "6", "7"].enumerated().map { read($0.element, of: PublisherId(Int64(8 + $0.offset)), from: 9) }
    tasks.append(read("new", of: 20, from: 9))
    for task in tasks { await task.value }
    let refused = order.names.filter { $0.hasPrefix("not") }
    #expect(refused == ["not 1"] || refused == ["not 3"])
    #expect(order.names.count == 9 && Set(order.names).count == 9)
    #expect(order.names.contains("new"))
  }
}
