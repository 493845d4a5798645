import Domain
import HTTPServer
import Testing

@testable import Gateway

/// The refusals of transfers.
struct TransferProblemTests {
  @Test(arguments: [
    (Job.Kind.registration, Job.Kind.registration, "SK2C0101"), (.registration, .transfer, "SK2C0101"),
    (.transfer, .registration, "SK2C0103"), (.transfer, .transfer, "SK2C0104"),
  ])
  func `the code says what holds the transaction`(kind: Job.Kind, holder: Job.Kind, code: String) {
    let own = Problem.locked(kind, by: holder, instance: "/a")
    #expect(own.status == 409 && own.code == code && own.instance == "/a" && own.retryAfter == 1)
    #expect(own.message == "The resource is temporarily locked due to a concurrent request.")
    let other = Problem.locked(kind, by: holder, instance: nil)
    #expect(other.code == code && other.instance == nil && other.retryAfter == nil)
  }

  @Test func migrating() {
    let response = Problem.migrating.response
    #expect(response.status == 422)
    #expect(String(decoding: response.body, as: UTF8.self).contains(#""code":"SK2C0005""#))
  }
}
