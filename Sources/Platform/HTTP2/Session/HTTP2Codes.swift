/// Why a stream ended (RFC 9113, section 7).
package struct HTTP2ErrorCode: RawRepresentable, Sendable, Equatable {
  /// The number of the code.
  package let rawValue: UInt32

  /// Takes any number, since a peer may send other codes than those below.
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The side that sends it has failed.
  package static let internalError = HTTP2ErrorCode(rawValue: 0x02)
  /// The server has not processed the request.
  package static let refusedStream = HTTP2ErrorCode(rawValue: 0x07)
  /// The receiver does not need the stream any more.
  package static let cancel = HTTP2ErrorCode(rawValue: 0x08)
  /// The server wants HTTP/1.1 for the request.
  package static let http11Required = HTTP2ErrorCode(rawValue: 0x0d)
}

/// The settings that one side sends to the other at the beginning (RFC 9113, section 6.5.2).
package enum HTTP2Setting: Int32, Sendable {
  case enablePush = 2
  case maxConcurrentStreams = 3
  case initialWindowSize = 4
  case maxHeaderListSize = 6
}
