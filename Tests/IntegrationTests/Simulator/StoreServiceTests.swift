import Crypto
import EventLoop
import Formats
import FoundationEssentials
import HTTP2Server
import Testing

@testable import Simulator

/// The service without a network, and with a clock that stands still until a test changes it.
struct StoreServiceTests {
  /// Runs a body with a service, its clock, and a bearer token that the service accepts.
  @LoopActor
  private func with(_ body: @LoopActor (StoreService, StoppedClock, String) async throws -> Void) async throws {
    let folder = try RunningSimulator.temporaryFolder()
    let configuration = Simulator.Configuration(folder: folder, apps: [RunningSimulator.app])
    let clock = StoppedClock()
    let service = StoreService(configuration, pki: try SimulatorPKI(configuration)) { clock.now }
    let key = String(decoding: try bytes("\(folder)/AuthKey_\(RunningSimulator.app.keyId).p8"), as: UTF8.self)
    let token = try Token(issuedAt: clock.now / 1000).signed(with: P256PrivateKey(pem: key))
    try await body(service, clock, token)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test @LoopActor
  func signsOnceASecond() async throws {
    try await with { (service, clock, token) async throws in
      func body(_ path: String) async -> [UInt8] {
        let headers = [("authorization", "Bearer \(token)"), ("accept", "*/*")]
        return await service.answer(HTTP2Request(path: path, headers: headers)).body
      }

      let path = "/production/inApps/v1/transactions/100000000000001"
      let first = await body(path)
      clock.now += 999
      #expect(await body(path) == first)
      #expect(await body("/sandbox/inApps/v1/transactions/100000000000001") != first)
      clock.now += 1
      #expect(await body(path) != first)
    }
  }

  @Test @LoopActor
  func servesWhatWasSignedAheadUntilOthersAre() async throws {
    try await with { (service, clock, token) async throws in
      func answer(_ path: String, method: String = "GET") async -> HTTP2Response {
        let headers = [("authorization", "Bearer \(token)"), ("accept", "*/*")]
        return await service.answer(HTTP2Request(method: method, path: path, headers: headers))
      }
      func ahead(_ rest: String) async -> Int {
        await answer("/simulator/signed/production/transactions/\(rest)", method: "PUT").status
      }

      let last = "/production/inApps/v1/transactions/100000000000003"
      #expect(await ahead("\(RunningSimulator.app.bundleId)/100000000000001/3") == 204)
      let signed = await answer(last).body
      clock.now += 60_000
      #expect(await answer(last).body == signed)
      #expect(await answer("/production/inApps/v1/subscriptions/100000000000003").status == 200)
      #expect(await ahead("\(RunningSimulator.app.bundleId)/100000000000001/2") == 204)
      #expect(await answer(last).body != signed)
      for wrong in ["app/1/0", "app/0/1", "app/1/1000001", "app/x/1", "app/9223372036854775807/2", "app/1"] {
        #expect(await ahead(wrong) == 404, "\(wrong)")
      }
      #expect(await answer("/simulator/signed/production/transactions/app/1/1").status == 405)
    }
  }

  @Test @LoopActor
  func refusesStrangeRequests() async throws {
    try await with { (service, clock, token) async throws in
      func status(_ headers: [(String, String)], body: [UInt8] = []) async -> Int {
        let path = "/production/inApps/v1/transactions/100000000000001"
        return await service.answer(HTTP2Request(path: path, headers: headers, body: body)).status
      }

      let authorization = ("authorization", "Bearer \(token)")
      #expect(await status([authorization, ("user-agent", "test")]) == 200)
      #expect(await status([authorization]) == 400)
      #expect(await status([authorization, ("accept", "*/*")], body: [1]) == 400)
      #expect(await status([("accept", "*/*")]) == 401)
      #expect(await status([("authorization", "Basic \(token)"), ("accept", "*/*")]) == 401)
    }
  }

  @Test func aKeyIdMayNotLeaveTheFolder() throws {
    let folder = try RunningSimulator.temporaryFolder()
    for keyId in ["", "../KEY", "a/b"] {
      let app = Simulator.App(bundleId: "com.example", appAppleId: 1, issuerId: "i", keyId: keyId)
      #expect(throws: SimulatorError.self) {
        try SimulatorPKI(Simulator.Configuration(folder: folder, apps: [app]))
      }
    }
    try FileManager.default.removeItem(atPath: folder)
  }
}

@LoopActor
private final class StoppedClock {
  var now: Int64 = 1_790_000_000_500
}
