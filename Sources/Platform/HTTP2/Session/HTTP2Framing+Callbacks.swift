import CNGHTTP2
import EventLoop

func setClientCallbacks(_ callbacks: OpaquePointer) {
  setCallbacks(callbacks)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
}

func setServerCallbacks(_ callbacks: OpaquePointer) {
  setCallbacks(callbacks)
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onRequestHeader)
}

private func setCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
}

private func framing(_ context: UnsafeMutableRawPointer?) -> HTTP2Framing {
  Unmanaged<HTTP2Framing>.fromOpaque(context!).takeUnretainedValue()
}

// The pointers are safe here and below: only the call uses them, and it stays on this thread.

private func onBeginHeaders(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let frame = frame!.pointee.headers
  guard frame.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
  LoopActor.assumeIsolated(with: (framing(context), frame.hd.stream_id)) { $0.owner?.begin($1) }
  return 0
}

private func onHeader(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let name = UnsafeBufferPointer(start: name, count: nameCount)
  let value = UnsafeBufferPointer(start: value, count: valueCount)
  LoopActor.assumeIsolated(with: (framing(context), name, value, frame!.pointee.hd.stream_id)) {
    $0.owner?.receiveHeader($1, $2, on: $3)
  }
  return 0
}

/// The trailers of a request come here too. No server needs them.
private func onRequestHeader(
  _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
  return onHeader(session, frame, name, nameCount, value, valueCount, flags, context)
}

private func onData(
  _: OpaquePointer?, _ flags: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let bytes = UnsafeBufferPointer(start: bytes, count: count)
  LoopActor.assumeIsolated(with: (framing(context), bytes, stream)) { $0.owner?.receiveBody($1, on: $2) }
  return 0
}

private func onFrame(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let header = frame!.pointee.hd
  let isHeaders = UInt32(header.type) == NGHTTP2_HEADERS.rawValue
  guard isHeaders || UInt32(header.type) == NGHTTP2_DATA.rawValue else { return 0 }
  let isLast = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
  LoopActor.assumeIsolated(with: (framing(context), header.stream_id, isHeaders, isLast)) {
    framing, stream, isHeaders, isLast in
    if isHeaders { framing.owner?.endHeaders(on: stream) }
    if isLast { framing.owner?.endMessage(on: stream) }
  }
  return 0
}

private func onStreamClose(
  _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  LoopActor.assumeIsolated(with: (framing(context), stream, code)) {
    $0.owner?.end($1, HTTP2ErrorCode(rawValue: $2))
  }
  return 0
}

/// A request that was not sent has no stream, so nghttp2 calls this instead of `onStreamClose`.
private func onFrameNotSent(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ code: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let header = frame!.pointee.hd
  guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
  LoopActor.assumeIsolated(with: (framing(context), header.stream_id)) { $0.owner?.refuse($1) }
  return 0
}

/// Hands nghttp2 the next part of a body. nghttp2 may call it during any write.
func onReadBody(
  _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let buffer = UnsafeMutableBufferPointer(start: buffer, count: capacity)
  let part = LoopActor.assumeIsolated(with: (framing(context), buffer, stream)) {
    $0.owner?.copyBody(on: $2, into: $1) ?? .failure
  }
  switch part {
  case .bytes(let count, let isLast):
    if isLast { flags!.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
  case .pause: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
  // nghttp2 answers this failure with RST_STREAM and INTERNAL_ERROR.
  case .failure: return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
  }
}
