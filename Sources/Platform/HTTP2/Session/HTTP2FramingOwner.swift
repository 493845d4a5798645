package import EventLoop

/// A side of an HTTP/2 connection. ``HTTP2Framing`` passes on to it everything that its peer sends.
///
/// No method here may close the framing, because nghttp2 is at work when it calls them.
@LoopActor
package protocol HTTP2FramingOwner: AnyObject {
  /// A request has begun.
  func begin(_ stream: Int32)
  /// A header field came. Its bytes are valid during the call.
  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32)
  /// The header fields of an answer are complete.
  func endHeaders(on stream: Int32)
  /// A part of a body came. Its bytes are valid during the call.
  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32)
  /// The peer has sent its whole message.
  func endMessage(on stream: Int32)
  /// Copies the next part of this side's body.
  func copyBody(on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> HTTP2BodyPart
  /// A stream has ended.
  func end(_ stream: Int32, _ code: HTTP2ErrorCode)
  /// The framing did not send a request, because the server had said goodbye.
  func refuse(_ stream: Int32)
}

extension HTTP2FramingOwner {
  /// A client gets no requests.
  package func begin(_: Int32) {}
  /// A server does not need the head before the whole request is there.
  package func endHeaders(on _: Int32) {}
  /// A server sends no requests.
  package func refuse(_: Int32) {}
}

/// The next part of a body.
package enum HTTP2BodyPart: Sendable {
  /// The function has copied this number of bytes.
  case bytes(Int, isLast: Bool)
  /// The owner has no bytes now. nghttp2 must not ask again by itself.
  case pause
  /// The body breaks off. nghttp2 resets the stream with `INTERNAL_ERROR`.
  case failure
}
