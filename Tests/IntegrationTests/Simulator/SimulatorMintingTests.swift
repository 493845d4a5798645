import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import FoundationEssentials
import HTTP
import HTTPClient
import Testing

@testable import Simulator

/// What the simulator mints for apps, as our own verifiers see it.
struct SimulatorMintingTests {
  private static let apps = AcceptedApps([AcceptedApps.App(bundleId: BundleId(RunningSimulator.app.bundleId.text))])

  /// The reason for which each scenario's data is refused; the scenarios that are not here give good data.
  private static let faults: [Scenario: Rejection.Reason] = [
    .tampered: .signatureInvalid, .foreignRoot: .chainUntrusted, .missingMarkers: .markerOIDMissing,
    .wrongBundle: .bundleIdMismatch,
  ]

  @Test @LoopActor
  func signedTransactions() async throws {
    try await RunningSimulator.with { simulator async throws in
      let verifier = SignedDataVerifier(roots: try TrustedRoots(files: [simulator.folder + "/root.der"]))
      for scenario in Scenario.allCases {
        let jws = try await simulator.minted("jws/\(scenario.prefix)0000000000001")
        let verdict = verifier.transaction(jws, expecting: Self.apps)
        #expect(verdict.rejection?.reason == Self.faults[scenario], "\(scenario)")
        guard let transaction = verdict.payload else { continue }
        #expect(transaction.transactionId?.text == "\(scenario.prefix)0000000000001")
        #expect(transaction.environment == scenario.environment, "\(scenario)")
        #expect((transaction.revocationDate != nil) == (scenario == .refunded))
      }
    }
  }

  @Test @LoopActor
  func receipts() async throws {
    try await RunningSimulator.with { simulator async throws in
      let verifier = ReceiptVerifier(roots: try TrustedRoots(files: [simulator.folder + "/root.der"]))
      for scenario in Scenario.allCases {
        let text = try await simulator.minted("receipt/\(scenario.prefix)0000000000001")
        let verdict = verifier.receipt(text, expecting: Self.apps)
        #expect(verdict.rejection?.reason == Self.faults[scenario], "\(scenario)")
        guard let receipt = verdict.payload else { continue }
        #expect(receipt.environment == scenario.environment, "\(scenario)")
        #expect(receipt.inApp.count == (scenario == .upgraded ? 2 : 1))
        #expect(receipt.inApp.allSatisfy { $0.originalTransactionId?.text == "\(scenario.prefix)0000000000001" })
        #expect((receipt.inApp.first?.cancellationDate != nil) == (scenario == .refunded))
      }
    }
  }

  /// The purchase in a receipt is the one that the signed transaction shows.
  @Test @LoopActor
  func receiptsAndTransactionsAgree() async throws {
    try await RunningSimulator.with { simulator async throws in
      let roots = try TrustedRoots(files: [simulator.folder + "/root.der"])
      for id in ["1000000000007", "1020000000007", "1059000000007", "1110000000007"] {
        let transaction = try #require(
          SignedDataVerifier(roots: roots).transaction(
            try await simulator.minted("jws/\(id)"), expecting: Self.apps
          ).payload)
        let receipt = try #require(
          ReceiptVerifier(roots: roots).receipt(
            try await simulator.minted("receipt/\(id)"), expecting: Self.apps
          ).payload)
        let inApp = try #require(receipt.inApp.first { $0.transactionId?.text == id })
        #expect(inApp.productId == transaction.productId)
        #expect(inApp.originalTransactionId == transaction.originalTransactionId)
        #expect(inApp.quantity == transaction.quantity.map(Int64.init))
        #expect(inApp.purchaseDate == transaction.purchaseDate)
        #expect(inApp.originalPurchaseDate == transaction.originalPurchaseDate)
        #expect(inApp.expiresDate == transaction.expiresDate)
        #expect(inApp.cancellationDate == transaction.revocationDate)
        #expect(inApp.webOrderLineItemId.map(String.init) == transaction.webOrderLineItemId?.text)
        #expect(inApp.isTrialPeriod == (transaction.expiresDate == nil ? nil : false))
        #expect(inApp.isInIntroOfferPeriod == inApp.isTrialPeriod)
      }
    }
  }

  @Test @LoopActor
  func severalPurchasesAndAge() async throws {
    try await RunningSimulator.with { simulator async throws in
      let verifier = ReceiptVerifier(roots: try TrustedRoots(files: [simulator.folder + "/root.der"]))
      let ids = (1...187).map { "110\($0)" }
      let path = "receipt/1000000000001?also=\(ids.joined(separator: ","))&age=7200"
      let receipt = try #require(
        verifier.receipt(try await simulator.minted(path), expecting: Self.apps).payload)
      #expect(receipt.inApp.compactMap(\.transactionId?.text) == ["1000000000001"] + ids)
      let age = unixMilliseconds() - receipt.receiptCreationDate
      #expect(age >= 7_200_000 && age < 10_800_000)
      let empty = try #require(
        verifier.receipt(try await simulator.minted("receipt"), expecting: Self.apps).payload)
      #expect(empty.inApp.isEmpty && empty.environment == .production)
      for path in [
        "jws", "jws/abc", "jws/", "receipt/", "receipt/1x", "receipt/1001?also=7,x", "jws/123456789012345678901",
      ] {
        #expect(try await simulator.status("/simulator/\(path)") == 404, "\(path)")
      }
      #expect(try await simulator.status("/simulator/jws/1001", "POST") == 405)
      #expect(try await simulator.status("/simulator/other/1001") == 404)
    }
  }
}

extension Scenario {
  fileprivate var environment: Environment {
    [.sandboxOnly, .unauthorizedInProduction, .wrongEnvironment].contains(self) ? .sandbox : .production
  }
}

extension RunningSimulator {
  /// Returns what the simulator mints.
  fileprivate func minted(_ path: String) async throws -> String {
    let answer = try await client.send(HTTPClientRequest("GET", url("/simulator/\(path)"), timeout: .seconds(120)))
    #expect(answer.status == 200 && answer.header("content-type") == "text/plain")
    return String(decoding: answer.body, as: UTF8.self)
  }

  fileprivate func status(_ path: String, _ method: String = "GET") async throws -> Int {
    let body: [UInt8]? = method == "POST" ? [] : nil
    return try await client.send(HTTPClientRequest(method, url(path), body: body, timeout: .seconds(120))).status
  }
}
