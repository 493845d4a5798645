import Formats

/// A time as other systems write it.
public enum ImportTime {
  /// Reads `2026-11-28T12:00:00Z`, `2026-11-28 12:00:00` (UTC), `2026-11-28`, or milliseconds since 1970.
  public static func milliseconds(_ text: String) -> Int64? {
    if let number = Int64(text) { return number.isTime ? number : nil }
    if let time = Formats.milliseconds(rfc3339: text) { return time }
    let bytes = Array(text.utf8)
    if bytes.count == 10 { return Formats.milliseconds(rfc3339: text + "T00:00:00Z") }
    guard bytes.count >= 19, bytes[10] == UInt8(ascii: " ") || bytes[10] == UInt8(ascii: "T") else { return nil }
    let (day, clock) = (bytes.prefix(10), bytes.dropFirst(11))
    return Formats.milliseconds(
      rfc3339: String(decoding: day, as: UTF8.self) + "T" + String(decoding: clock, as: UTF8.self) + "Z")
  }
}
