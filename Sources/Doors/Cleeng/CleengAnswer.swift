import Domain
import Gateway
import HTTPServer
import JSON

/// The bodies of Cleeng's answers. The members stand in the order of their names.
enum CleengAnswer {
  /// The answer to a payment: the request is well formed, and everything else comes later.
  static var accepted: HTTPServerResponse {
    jsonResponse(
      200,
      written: JSONWriter.object { writer in
        writer.member("errors", array: [])
        writer.member("responseData") { $0.member("success", true) }
      })
  }

  /// A customer's access to one offer, as API 3.1 tells it.
  static func entitlement(_ entitlement: CleengEntitlement) -> HTTPServerResponse {
    jsonResponse(200, written: JSONWriter.object { write(entitlement, to: &$0) })
  }

  /// The same as MediaStore tells it: known clients read `responseData` and `errors`.
  static func mediaStoreEntitlement(_ entitlement: CleengEntitlement) -> HTTPServerResponse {
    let body = JSONWriter.object { writer in
      write(entitlement, to: &writer, errors: [])
      writer.member("responseData") { data in
        data.member("accessGranted", entitlement.accessGranted)
        data.member("expiresAt", json: seconds(entitlement.expiresAt))
      }
    }
    return jsonResponse(200, written: body)
  }

  private static func write(_ entitlement: CleengEntitlement, to writer: inout JSONWriter, errors: [[UInt8]]? = nil) {
    writer.member("accessGranted", entitlement.accessGranted)
    writer.cleengId("customerId", entitlement.customerId)
    if let errors { writer.member("errors", array: errors) }
    writer.member("expiresAt", json: seconds(entitlement.expiresAt))
    writer.member("offerId", entitlement.offerId)
  }

  /// A time in seconds since 1970; `null` without a time. Typed clients expect the member.
  private static func seconds(_ milliseconds: Int64?) -> [UInt8] {
    milliseconds.map { Array(String($0 / 1000).utf8) } ?? JSONWriter.null
  }
}
