import CNGHTTP2
import EventLoop

func setClientCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
}

private func session(of context: UnsafeMutableRawPointer?) -> HTTP2ClientSession {
  Unmanaged<HTTP2ClientSession>.fromOpaque(context!).takeUnretainedValue()
}

// Unsafe in name only, here and below: the pointers are used during the call, and the call stays on this thread.

private func onHeader(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let name = UnsafeBufferPointer(start: name, count: nameCount)
  let value = UnsafeBufferPointer(start: value, count: valueCount)
  LoopActor.assumeIsolated(with: (session(of: context), name, value, frame!.pointee.hd.stream_id)) {
    $0.receiveHeader($1, $2, on: $3)
  }
  return 0
}

private func onData(
  _: OpaquePointer?, _ flags: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let bytes = UnsafeBufferPointer(start: bytes, count: count)
  LoopActor.assumeIsolated(with: (session(of: context), bytes, stream)) { $0.receiveBody($1, on: $2) }
  return 0
}

private func onFrame(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let header = frame!.pointee.hd
  let isHeaders = UInt32(header.type) == NGHTTP2_HEADERS.rawValue
  guard isHeaders || UInt32(header.type) == NGHTTP2_DATA.rawValue else { return 0 }
  let isLast = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
  LoopActor.assumeIsolated(with: (session(of: context), header.stream_id, isHeaders, isLast)) {
    session, stream, isHeaders, isLast in
    if isHeaders { session.endHeaders(on: stream) }
    if isLast { session.endAnswer(on: stream) }
  }
  return 0
}

private func onStreamClose(
  _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  LoopActor.assumeIsolated(with: (session(of: context), stream, code)) { $0.end($1, $2) }
  return 0
}

/// A request that never was a stream has no end of one.
private func onFrameNotSent(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ code: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let header = frame!.pointee.hd
  guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
  let session = session(of: context)
  LoopActor.assumeIsolated { session.refuse(header.stream_id) }
  return 0
}

/// Hands nghttp2 the next part of a request's body; it may be called during any write.
func onReadRequestBody(
  _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let session = session(of: context)
  nonisolated(unsafe) let buffer = UnsafeMutableBufferPointer(start: buffer, count: capacity)
  nonisolated(unsafe) let flags = flags!
  return LoopActor.assumeIsolated { session.copyBody(on: stream, into: buffer, flags: flags) }
}
