import AppStore
import Domain
import HTTPServer
import JSON
import Testing

@testable import Doors
@testable import Gateway

/// The errors of iaptic's validator and of its reads, each branch by value.
struct IapticErrorTests {
  @Test(
    arguments: [
      (.purchaseSynchronized, nil), (.receivedExpiredPurchase, nil), (.purchaseRevoked, nil), (.offerNotFound, nil),
      (.purchaseUnclaimed, nil), (.purchaseOwnedByAnotherCustomer, .invalidPayload),
      (.ownershipNotProven, .invalidPayload), (.transactionIdNotFound, .invalidPayload),
      (.appMismatch, .invalidPayload),
      (.verificationFailed, .invalidPayload), (.sandboxNotAllowed, .invalidPayload), (.customerErased, .invalidPayload),
      (.offerMismatch, .invalidPayload), (.internalError, .internalError),
      (ResultCode(rawValue: "NEW"), .internalError),
    ] as [(ResultCode, IapticError.Code?)])
  func `results`(result: ResultCode, code: IapticError.Code?) {
    #expect(IapticError.of(result)?.code == code)
  }

  @Test func `each refused result has a text of its own`() {
    let texts = ResultCode.known.compactMap { IapticError.of($0) }.filter { $0.code == .invalidPayload }
    #expect(Set(texts.map(\.message)).count == texts.count)
  }

  @Test func `refusals`() {
    #expect(IapticError.of(DoorRefusal.unknownCustomer).code == .invalidPayload)
    #expect(IapticError.of(EvidenceRefusal.notActivated).code == .internalError)
    #expect(IapticError.of(DoorRefusal.tooManyWaiting).code == .connectionFailed)
    #expect(IapticError.of(DoorRefusal.unavailable("away")) == .connectionFailed("away"))
    #expect(IapticError.of(EvidenceRefusal.tooLarge).code == .invalidPayload)
    #expect(IapticError.of(EvidenceRefusal.busy).code == .connectionFailed)
    #expect(
      IapticError.of(EvidenceRefusal.rejected(Rejection(.signatureInvalid, "wrong"), sha256: nil))
        == .invalidPayload("signature_invalid: wrong"))
  }

  @Test func `the body, for the plugin and for the Swift client`() {
    let error = IapticError.needMoreData("m")
    let plugin = error.response(hasTextCode: false)
    #expect(plugin.status == 200)
    #expect(
      String(decoding: plugin.body, as: UTF8.self) == """
        {"ok":false,"status":400,"code":6778006,"message":"m","data":{"code":6778006,"latest_receipt":true},\
        "error":{"message":"m"}}
        """)
    #expect(
      String(decoding: error.response(hasTextCode: true).body, as: UTF8.self) == """
        {"ok":false,"status":400,"code":"6778006","message":"m","data":{"code":"6778006","latest_receipt":true},\
        "error":{"message":"m"}}
        """)
  }

  @Test func `the codes are the vendor's`() {
    #expect(IapticError.Code.allCases.map(\.rawValue) == [6_778_001, 6_778_002, 6_778_005, 6_778_006])
  }

  @Test func `reads answer with real statuses`() {
    let wrong = IapticReadError.wrongCredential.response
    #expect(wrong.status == 401 && wrong.headers.contains { $0.name == "WWW-Authenticate" })
    #expect(
      String(decoding: wrong.body, as: UTF8.self) == """
        {"ok":false,"status":401,"code":"InvalidPayload","message":"Error: appName and apiKey do not match"}
        """)
    let away = IapticReadError(Problem.unavailable("The ledger cannot be used now."))
    #expect(away.status == 503 && away.code == "ServiceUnavailable")
    #expect(away.response.headers.contains { $0.name == "Retry-After" })
    let often = IapticReadError(Problem.tooManyRequests("The token reads too often.", retryAfter: 3))
    #expect(often.code == "TooManyRequests" && often.response.status == 429)
    #expect(often.response.headers.contains { $0.name == "Retry-After" && $0.value == "3" })
    #expect(IapticReadError(Problem.internalError).code == "InternalError")
    #expect(IapticReadError.invalid("x").response.status == 400)
    #expect(IapticReadError.unknownUser.status == 404)
  }
}
