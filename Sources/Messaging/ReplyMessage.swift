public import AMQP
public import Domain
import JSON

/// Tells the gateway of a waiting request that its synchronization is finalized.
///
/// It may get lost: the ledger has the result, and the request reads it before its limit.
public enum ReplyMessage {
  /// The name of the message's `type`.
  static let type = "finalized"

  /// The end of a synchronization, as its gateway reads it.
  public struct Reply: Sendable, Equatable {
    public let synchronizationId: SynchronizationId
    public let result: SynchronizationResult
  }

  /// Builds the message for the queue of a gateway.
  public static func message(_ synchronizationId: SynchronizationId, _ result: SynchronizationResult, to queue: String)
    -> AMQPMessage
  {
    AMQPMessage(
      exchange: "", routingKey: queue, messageID: "reply_\(synchronizationId.text.prefix(200))", type: type,
      body: JSONWriter.object { reply in
        reply.member("outcome", String(decoding: result.encoded, as: UTF8.self))
        reply.member("synchronizationId", synchronizationId)
      })
  }

  /// Reads a delivery; `nil` for anything else, which a newer worker may send.
  public static func read(_ delivery: AMQPDelivery) -> Reply? {
    guard let members = try? JSONObject(JSONText(delivery.body, limits: .own)),
      let id = try? members.requiredString("synchronizationId"),
      let text = try? members.requiredString("outcome"),
      let result = try? SynchronizationResult(JSONText(Array(text.utf8), limits: .own))
    else { return nil }
    return Reply(synchronizationId: SynchronizationId(id), result: result)
  }
}
