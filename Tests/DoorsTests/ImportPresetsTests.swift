import Domain
import Doors
import HTTPServer
import Import
import Testing

@testable import Gateway

/// Whose exports and recorded webhook bodies this build reads: its own, and those of its doors.
struct ImportPresetsTests {
  private let presets = ImportPresets(DoorRegistry.catalog)

  private struct NoSignatures: ImportVerifier {
    func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] { [] }
  }

  private func read(_ preset: String, _ lines: String...) throws -> ImportFile {
    var rest = lines[...]
    let columns = try #require(presets.export(named: ImportPresetName(rawValue: preset)))
    return ImportFile(preset: columns, verifier: NoSignatures()) { rest.popFirst().map { Array($0.utf8) } }
  }

  @Test func `the presets have their names, in their order`() {
    #expect(presets.names == ["plain", "revenuecat", "iaptic", "cleeng", "countersign"])
    #expect(presets.others.map(\.name.rawValue) == ["plain", "revenuecat", "iaptic", "cleeng"])
    #expect(presets.bodies.map(\.name) == ["revenuecat-webhooks", "iaptic-webhooks"])
    #expect(presets.export(named: ImportPresetName(rawValue: "later")) == nil)
    // Without doors, a build has its own.
    #expect(ImportPresets(DoorCatalog()).names == ["plain", "revenuecat", "countersign"])
  }

  @Test func `a new import names one of them`() throws {
    func wish(_ body: String) throws(Problem) -> UploadedImport.Wish {
      try requestedImport(
        HTTPServerRequest(
          method: "POST", path: [], query: [], headers: [("Content-Type", "application/json")], body: Array(body.utf8)),
        presets)
    }
    for name in presets.names { #expect(try wish(#"{"from":"\#(name)"}"#).preset.rawValue == name) }
    #expect(throws: Problem.invalidBody("from: expected one of plain, revenuecat, iaptic, cleeng, countersign")) {
      try wish(#"{"from":"playfab"}"#)
    }
  }

  @Test func `iaptic's ids lose their prefix`() throws {
    let file = try read(
      "iaptic", #"{"applicationUsername":"u","platform":"apple","purchaseId":"apple:11","transactionId":"apple:12"}"#,
      #"{"applicationUsername":"u","platform":"google","purchaseId":"google:13"}"#)
    #expect(Array(file.rows) == [ImportRow(line: 1, customerId: "u", transactionId: "11")])
    #expect(file.otherStores == 1 && file.problems == [])
    let wrong = try read("iaptic", #"{"applicationUsername":"u","platform":"apple","purchaseId":"apple:apple:11"}"#)
    #expect(wrong.problems.map(\.cause) == ["the transaction's id is not 1 to 32 digits"])
  }

  @Test func `Cleeng's rows keep their offer`() throws {
    let file = try read("cleeng", "customerId,offerId,originalTransactionId,subscriptionId", "7,S1_US,11,s9")
    #expect(
      Array(file.rows) == [
        ImportRow(
          line: 2, customerId: "7", transactionId: "11", claim: ClaimedPurchase(offerId: "S1_US", vendorId: "s9"))
      ])
    let report = try read(
      "cleeng", "Customer ID,Offer ID,OriginalTransactionID,Payment method", "7,S1_US,11,Apple", "8,S1_US,,Apple Pay",
      "9,S1_US,,Card")
    #expect(report.rows.map(\.transactionId) == ["11"] && report.otherStores == 2 && report.problems == [])
  }
}
