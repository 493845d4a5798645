import Testing

@testable import Postgres

@Suite struct PostgresEncodingTests {
  private func bytes(_ parameter: PostgresParameter) -> [UInt8]? {
    guard let length = parameter.value.length else { return nil }
    return [UInt8](unsafeUninitializedCapacity: length) { memory, count in
      var writer = ByteWriter(UnsafeMutableRawBufferPointer(memory))
      parameter.value.append(to: &writer)
      count = writer.count
    }
  }

  @Test func `values have their network byte order and their type`() {
    let uuid = "00112233-4455-6677-8899-aabbccddeeff"
    let cases: [(PostgresParameter, UInt32, [UInt8]?)] = [
      (.int64(-2), 20, [255, 255, 255, 255, 255, 255, 255, 254]), (.int32(1), 23, [0, 0, 0, 1]),
      (.bool(true), 16, [1]), (.bool(false), 16, [0]), (.text("é"), 25, [0xC3, 0xA9]),
      (.bytes([7]), 17, [7]), (.time(946_684_800_001), 1184, [0, 0, 0, 0, 0, 0, 3, 0xE8]),
      (.uuid(uuid), 2950, (0...15).map { $0 * 17 }), (.uuid("x"), 2950, [UInt8](repeating: 0, count: 17)),
      (.int64(nil), 20, nil), (.text(nil), 25, nil), (.time(nil), 1184, nil), (.uuid(nil), 2950, nil),
    ]
    for (parameter, type, expected) in cases {
      #expect(parameter.type == type)
      #expect(bytes(parameter) == expected)
    }
  }

  @Test func `an array is a head and its elements`() {
    let head: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 3, 0, 0, 0, 1]
    let elements: [UInt8] = [0, 0, 0, 2, 0x68, 0x69, 255, 255, 255, 255, 0, 0, 0, 0]
    #expect(bytes(.texts(["hi", nil, ""])) == head + elements)
    #expect(PostgresParameter.texts([]).type == 1009)
    #expect(bytes(.texts([])) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25])
    #expect(bytes(.int32s([1]))?.suffix(8) == [0, 0, 0, 4, 0, 0, 0, 1])
    #expect(bytes(.int32s([1]))?[7] == 0, "it has no NULL")
  }

  @Test func `arrays have the types of arrays`() {
    let types: [(PostgresParameter, UInt32)] = [
      (.int64s([]), 1016), (.int32s([]), 1007), (.bools([]), 1000), (.texts([]), 1009),
      (.bytes([] as [[UInt8]?]), 1001), (.times([]), 1185), (.uuids([]), 2951),
    ]
    for (parameter, type) in types { #expect(parameter.type == type) }
  }

  @Test func `an array is read as it was written`() {
    var texts: [String?] = []
    let encoded = ArrayEncoding.texts(["a", nil, ""])
    encoded.withUnsafeBytes { bytes in
      #expect(ArrayDecoding.forEach(bytes) { texts.append($0.map { String(decoding: $0, as: UTF8.self) }) })
    }
    #expect(texts == ["a", nil, ""])
    ArrayEncoding.texts([]).withUnsafeBytes { bytes in
      #expect(ArrayDecoding.forEach(bytes) { _ in Issue.record("it has no elements") })
    }
  }

  @Test func `bytes that are no array are told as such`() {
    let encoded = ArrayEncoding.texts(["a", nil, ""])
    for end in encoded.indices {
      encoded[..<end].withUnsafeBytes { #expect(!ArrayDecoding.forEach($0) { _ in }, "the first \(end) bytes") }
    }
    // Two dimensions of 2^31 - 1 elements, and a dimension of -1.
    let dimensions: [[UInt8]] = [[0x7f, 255, 255, 255], [255, 255, 255, 255]]
    for length in dimensions {
      let head: [UInt8] = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 25] + length + [0, 0, 0, 1] + length + [0, 0, 0, 1]
      head.withUnsafeBytes { #expect(!ArrayDecoding.forEach($0) { _ in }) }
    }
  }

  @Test func `times become microseconds since 2000 and come back`() {
    for time: Int64 in [.min, -1, 0, 1, 946_684_799_999, 946_684_800_000, 4_102_444_800_000, .max] {
      #expect(PostgresTime.milliseconds(PostgresTime.microseconds(time)) == time)
    }
    #expect(PostgresTime.microseconds(.max - 1) == .max && PostgresTime.microseconds(.min + 1) == .min)
    // A part of a millisecond counts for the millisecond that has begun.
    #expect(PostgresTime.milliseconds(-1) == 946_684_799_999)
    #expect(PostgresTime.milliseconds(999) == 946_684_800_000)
  }

  @Test func `a UUID is 32 digits`() {
    let text = "00112233-4455-6677-8899-aabbccddeeff"
    for form in [text, text.uppercased(), text.replacing("-", with: "")] {
      let bytes = PostgresUUID.bytes(form)
      #expect(bytes.map { PostgresUUID.text($0.0, $0.1) } == text)
    }
    for wrong in ["", String(text.dropLast()), text + "0", "g" + text.dropFirst(), "0-0" + text.dropFirst(2)] {
      #expect(PostgresUUID.bytes(wrong) == nil)
    }
  }

  @Test func `a buffer gives libpq every parameter, and NULL for NULL`() {
    var buffer = ParameterBuffer()
    for parameters: [PostgresParameter] in [[.text("ab"), .int64(nil), .text(""), .int32(3)], [], [.bool(true)]] {
      let values = buffer.withParameters(parameters) { count, values, lengths, formats in
        (0..<Int(count)).map { place -> [UInt8]? in
          #expect(formats?[place] == 1)
          return values?[place].map { [UInt8](UnsafeRawBufferPointer(start: $0, count: Int(lengths?[place] ?? 0))) }
        }
      }
      #expect(values == parameters.map(bytes))
    }
  }
}
