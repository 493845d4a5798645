import Domain
import EventLoop
import HTTPServer

/// The client API of Mbaasy.
@LoopActor
enum MbaasyAPI {
  /// `POST /client/itunes_connect/receipts`: an app uploads its receipt.
  static func upload(_ door: DoorContext, _ call: DoorCall) async -> HTTPServerResponse {
    do {
      var upload = try MbaasyUpload(door, call.request)
      return try await upload.answer()
    } catch {
      return error.response
    }
  }

  /// The answer to a head without a right client token; `nil` for a good one.
  nonisolated static func refusal(of head: HTTPServerRequest, _ publishers: Publishers) -> HTTPServerResponse? {
    do {
      _ = try MbaasyAuthentication(head, publishers)
      return nil
    } catch {
      return error.response
    }
  }

  /// The answer to a body over the limit.
  nonisolated static func tooLarge(limit: Int) -> HTTPServerResponse { MbaasyError.tooLarge(limit).response }
}
