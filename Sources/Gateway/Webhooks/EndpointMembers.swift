// The members that both forms of an endpoint have: the resource, and the documented subscription.

import Configuration
import Domain
import Formats
import HTTPServer
import JSON

/// Reads the member `url`.
func webAddress(_ reader: BodyReader, _ address: WebhookAddress) throws(Problem) -> String? {
  guard let url = try reader.text("url", .ruled) else { return nil }
  if let defect = address.defect(of: url) { throw reader.problem("url", defect) }
  return url
}

/// Reads the member `retryPolicy`: `{"enabled": false}`, or `{"scheduleSeconds": […]}`. Without either, the fleet's
/// schedule counts.
func retryPolicy(_ reader: BodyReader) throws(Problem) -> WebhookEndpoint.Retry? {
  guard let policy = try reader.object("retryPolicy", knows: ["enabled", "scheduleSeconds"]) else { return nil }
  let expected = "expected 1 to 50 numbers of seconds from 1 to 604800"
  let schedule = try policy.list("scheduleSeconds", expected)
  if try policy.flag("enabled") == false {
    guard schedule == nil else { throw policy.problem("scheduleSeconds", "makes no sense when enabled is false") }
    return .never
  }
  guard let schedule else { return .standard }
  var delays: [Duration] = []
  for element in schedule {
    let seconds: Double? =
      switch element {
      case .integer(let number): Double(number)
      case .number(let number): number
      default: nil
      }
    guard let seconds, (1...604_800).contains(seconds) else { throw policy.problem("scheduleSeconds", expected) }
    delays.append(.milliseconds(Int64((seconds * 1000).rounded())))
  }
  guard (1...50).contains(delays.count) else { throw policy.problem("scheduleSeconds", expected) }
  return .schedule(delays)
}
