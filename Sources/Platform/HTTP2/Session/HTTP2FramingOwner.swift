package import EventLoop

/// A side of an HTTP/2 connection, which learns from ``HTTP2Framing`` what its peer sends.
///
/// None of these methods may close the framing: nghttp2 is at work when it calls them.
@LoopActor
package protocol HTTP2FramingOwner: AnyObject {
  /// A request has begun.
  func begin(_ stream: Int32)
  /// A header field came; its bytes are good during the call.
  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32)
  /// The header fields of an answer are complete.
  func endHeaders(on stream: Int32)
  /// A part of a body came; its bytes are good during the call.
  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32)
  /// The peer has sent its whole message.
  func endMessage(on stream: Int32)
  /// Copies the next part of the own body.
  func copyBody(on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> HTTP2BodyPart
  /// A stream has ended.
  func end(_ stream: Int32, _ code: HTTP2ErrorCode)
  /// A request was not sent, because the server had said goodbye.
  func refuse(_ stream: Int32)
}

extension HTTP2FramingOwner {
  /// A client gets no requests.
  package func begin(_: Int32) {}
  /// A server needs no head before the whole request is there.
  package func endHeaders(on _: Int32) {}
  /// A server sends no requests.
  package func refuse(_: Int32) {}
}

/// The next part of a body.
package enum HTTP2BodyPart: Sendable {
  /// So many bytes were copied.
  case bytes(Int, isLast: Bool)
  /// Nothing is there, and nobody is to ask again.
  case pause
  /// There is no more: the stream is reset with `INTERNAL_ERROR`.
  case failure
}
