import AppStore
import Domain
import EventLoop
import Fleets
import Foundation
import JSON
import TestSupport
import Testing

/// `countersign verify` as a process: every fixture one by one and in a batch, its exit statuses and its messages.
@LoopActor
struct VerifyCommandTests {
  private struct Result {
    var status: Int32
    var lines: [String]
    var text: String { lines.joined(separator: "\n") }
  }

  private func verify(_ arguments: [String]) async throws -> Result {
    let output = FileManager.default.temporaryDirectory.appending(path: "countersign-verify-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: output) }
    let process = try ChildProcess(Repository.products + "/countersign", ["verify"] + arguments, output: output.path)
    let status = try await process.ended()
    let text = String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self)
    return Result(status: status, lines: text.split(separator: "\n").map(String.init))
  }

  private func verify(batch lines: [String], _ arguments: [String]) async throws -> Result {
    let input = FileManager.default.temporaryDirectory.appending(path: "countersign-batch-\(UUID().uuidString)")
    try Data(lines.joined(separator: "\n").utf8).write(to: input)
    defer { try? FileManager.default.removeItem(at: input) }
    return try await verify(["--batch"] + arguments + [input.path])
  }

  @Test func `arguments that make no sense end with 2`() async throws {
    for arguments in [
      ["--kind", "nothing"], ["--nothing"], ["--environment", "Moon"], ["--app-apple-id", "x"], ["a", "b"], ["--root"],
      ["/nowhere/text"], ["--root", "/nowhere/root", "-"], ["--device-id", "xyz"], ["--app-apple-id", "0"],
    ] {
      let result = try await verify(arguments)
      #expect(result.status == 2 && result.text.hasPrefix("countersign verify: "), "\(arguments): \(result.text)")
    }
    let help = try await verify(["--help"])
    #expect(help.status == 0 && help.text.hasPrefix("usage: countersign verify"))
  }

  @Test func `what is no request is answered in its place`() async throws {
    let result = try await verify(
      batch: [
        "", "no json", "[]", #"{"id":1}"#, #"{"id":"two","data":1}"#, #"{"id":3,"data":"","kind":"song"}"#,
        #"{"id":4,"data":"a.b.c","environment":"Xcode"}"#, #"{"id":5,"data":"a.b.c"}"#,
        #"{"id":6,"data":"AAAA"}"#, #"{"id":7,"data":"","kind":"receipt"}"#, "  ",
      ], [])
    #expect(result.status == 2)
    struct Answer: Decodable {
      var id: JSONValue?
      var verdict: String
      var kind: String?
      var reason: String?
    }
    let answers = try result.lines.map { try JSONText(Array($0.utf8)).decoded(as: Answer.self) }
    #expect(answers.allSatisfy { $0.verdict == "rejected" })
    #expect(
      answers.map(\.reason) == Array(repeating: "request_invalid", count: 6) + Array(repeating: "malformed", count: 3))
    #expect(
      answers.map(\.id) == [
        nil, nil, .integer(1), .string("two"), .integer(3), .integer(4), .integer(5), .integer(6), .integer(7),
      ])
    #expect(answers.suffix(3).map(\.kind) == ["transaction", "receipt", "receipt"])
  }

  @Test func `a misspelt member accepts nothing`() async throws {
    let result = try await verify(batch: [#"{"id":1,"data":"a.b.c","bundleID":"com.example"}"#], [])
    #expect(
      result.status == 2 && result.text.contains("there is no member bundleID") && result.text.contains("\"id\":1"))
  }

  /// In base64, it begins as a JWS does.
  @Test(arguments: ["", #","kind":"receipt""#])
  func `a transaction receipt of iOS 6 is told as such`(kind: String) async throws {
    let request = #"{"id":1,"data":"\#(RunningFleet.transactionReceipt)"\#(kind)}"#
    let result = try await verify(batch: [request], [])
    #expect(RunningFleet.transactionReceipt.hasPrefix("eyJ"))
    #expect(result.status == 1 && result.text.contains(#""kind":"receipt""#))
    #expect(result.text.contains(#""reason":"transaction_receipt""#), "\(result.text)")
  }

  @Test func `an Apple id of 0 accepts nothing`() async throws {
    let result = try await verify(batch: [#"{"id":1,"data":"a.b.c","appAppleId":0}"#], [])
    #expect(result.status == 2 && result.text.contains(#""reason":"request_invalid""#), "\(result.text)")
  }

  // MARK: Fixtures

  @Test(
    .enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("Apple's data on the command line"))),
    arguments: [
      ("receipts/receipt-sandbox-g5", [], ""), ("receipts/receipt-sandbox-legacy", ["--kind", "receipt"], ""),
      ("receipts/receipt-xcode", [], "chain_untrusted"),
      ("receipts/receipt-xcode", ["--root", "receipts/StoreKitTestCertificate.cer", "--environment", "Xcode"], ""),
      ("apple/mock_signed_data/legacyTransaction", [], "transaction_receipt"),
      ("receipts/receipt-sandbox-g5", ["--bundle-id", "com.example"], "bundle_id_mismatch"),
      ("receipts/receipt-sandbox-g5", ["--device-id", "956328D9-CC6A-47F4-BE40-6953FB0AB6C7"], ""),
      ("receipts/receipt-sandbox-g5", ["--kind", "transaction"], "malformed"),
      ("apple/test-notification-sandbox-2025-09-05.jws", ["--environment=Sandbox"], ""),
      ("apple/test-notification-sandbox-2025-09-05.jws", ["--kind", "receipt"], "kind_mismatch"),
      ("apple/xcode/xcode-signed-transaction", ["--environment", "Xcode"], ""),
    ] as [(String, [String], String)])
  func `Apple's data is judged from the command line`(file: String, options: [String], reason: String) async throws {
    try await judge(file, of: .apple, options, reason)
  }

  @Test(
    arguments: [
      ("authority/receipt.der", [], "chain_untrusted"),
      ("authority/receipt.der", ["--root", "authority/receipt-root.der"], ""),
      (
        "authority/receipt-no-signer-oid.der", ["--root", "authority/receipt-no-signer-oid-root.der"],
        "marker_oid_missing"
      ),
      ("authority/transaction.jws", ["--root", "authority/jws-root.der"], ""),
      ("jws/dup-key-bundle-last-good.jws", ["--root", "jws-root.der"], "malformed"),
    ] as [(String, [String], String)])
  func `minted data is judged from the command line`(file: String, options: [String], reason: String) async throws {
    try await judge(file, of: .minted, options, reason)
  }

  private func judge(_ file: String, of data: Fixtures, _ options: [String], _ reason: String) async throws {
    let options = options.map { $0.hasSuffix(".der") || $0.hasSuffix(".cer") ? data.path($0) : $0 }
    let result = try await verify(options + [data.path(file)])
    if reason.isEmpty {
      #expect(result.status == 0, "\(result.text)")
      #expect(try JSONText(Array(result.text.utf8)).keys != nil)
    } else {
      #expect(result.status == 1 && result.lines.count == 1)
      #expect(result.text.hasPrefix("rejected: \(reason): "), "\(result.text)")
    }
  }

  private struct Row: Decodable {
    var file: String
    var method: String
    var env: String?
    var environment: String?
    var bundle: BundleId?
    var bundleId: BundleId?
    var appAppleId: Int64?
    var root: String?

    static let kinds = [
      "txn": "transaction", "renew": "renewal-info", "notif": "notification", "app": "app-transaction",
    ]

    func request(_ id: Int, of fixtures: Fixtures) throws -> String {
      struct Request: Encodable {
        var id: Int
        var kind: String?
        var data: String
        var bundleId: BundleId?
        var appAppleId: Int64?
        var environment: String?
      }
      let request = Request(
        id: id, kind: Self.kinds[method], data: try fixtures.text(file), bundleId: bundle ?? bundleId,
        appAppleId: appAppleId, environment: env ?? environment)
      return String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    }

    /// The library's verdict in this process.
    func rejection(of fixtures: Fixtures, by verifier: SignedDataVerifier) throws -> Rejection.Reason? {
      let apps = AcceptedApps([
        AcceptedApps.App(
          bundleId: bundle ?? bundleId ?? "", appAppleId: appAppleId,
          environments: [Environment(env ?? environment ?? "")])
      ])
      let jws = try fixtures.text(file)
      return switch method {
      case "txn": verifier.transaction(jws, expecting: apps).rejection?.reason
      case "renew": verifier.renewalInfo(jws, expecting: apps).rejection?.reason
      case "notif": verifier.notification(jws, expecting: apps).rejection?.reason
      default: verifier.appTransaction(jws, expecting: apps).rejection?.reason
      }
    }
  }

  @Test func `a batch answers every minted fixture as the library does`() async throws {
    try await judge(table: "jws-expected.json", of: .minted, root: "jws-root.der")
  }

  @Test(.enabled(if: Fixtures.hasApples, Comment(rawValue: Fixtures.withoutApples("a batch of Apple's test data"))))
  func `a batch answers Apple's data as the library does`() async throws {
    try await judge(table: "apple-expected.json", of: .apple, root: "apple/certs/testCA.der")
  }

  /// Compares the command with the library. The unit tests compare the verdicts with those of Apple's library.
  private func judge(table: String, of fixtures: Fixtures, root: String) async throws {
    let root = fixtures.path(root)
    let verifier = SignedDataVerifier(roots: try TrustedRoots(files: [root]))
    let rows = try Fixtures.minted.decoded(table, as: [Row].self).filter {
      Row.kinds[$0.method] != nil && ($0.root == nil || $0.root == "testCA")
    }
    #expect(rows.count > 20)
    let result = try await verify(
      batch: try rows.enumerated().map { try $1.request($0, of: fixtures) },
      ["--root", root] + ["Production", "Sandbox", "Xcode", "LocalTesting"].flatMap { ["--environment", $0] })
    #expect(result.status == 1 && result.lines.count == rows.count)
    struct Answer: Decodable {
      var id: Int
      var verdict: String
      var reason: String?
      var payload: JSONValue?
    }
    for (index, (row, line)) in zip(rows, result.lines).enumerated() {
      let answer = try JSONText(Array(line.utf8)).decoded(as: Answer.self)
      let expected = try row.rejection(of: fixtures, by: verifier)
      #expect(answer.id == index && answer.reason == expected?.rawValue, "\(row.file)")
      #expect(answer.verdict == (expected == nil ? "accepted" : "rejected"))
      #expect((answer.payload == nil) == (expected != nil))
    }
  }
}
