import Domain
import EventLoop
import Gateway
import HTTPServer

/// The client API of Mbaasy.
@LoopActor
enum MbaasyAPI {
  /// `POST /client/itunes_connect/receipts`: an app uploads its receipt.
  static func upload(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    do {
      var upload = try await MbaasyUpload(door, call.request)
      return try await upload.answer()
    } catch {
      return error.response
    }
  }

  /// Whether a head may go on.
  nonisolated static func admission(
    of head: HTTPServerRequest, _ publishers: Publishers, now: Int64
  ) -> DoorAdmission {
    do {
      let caller = try MbaasyAuthentication(head, publishers, now: now)
      return .admitted(
        DoorPace.Credential(caller.publisher, .mbaasy, caller.bundleId.text, .app),
        perSecond: caller.door.policy.maxRequestsPerSecond, tooFast: MbaasyError.tooFast.response)
    } catch {
      return .refused(error.response)
    }
  }

  /// The answer to a body over the limit.
  nonisolated static func tooLarge(limit: Int) -> HTTPServerResponse { MbaasyError.tooLarge(limit).response }

  /// The answer to a body for which the gateway has no room now.
  nonisolated static func noRoom() -> HTTPServerResponse {
    MbaasyError.unavailable("Too many receipts wait in the gateway; send this one again.").response
  }
}
