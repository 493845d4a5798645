import CNGHTTP2
import EventLoop

func setServerCallbacks(_ callbacks: OpaquePointer) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
}

private func session(of context: UnsafeMutableRawPointer?) -> HTTP2Session {
  Unmanaged<HTTP2Session>.fromOpaque(context!).takeUnretainedValue()
}

private func onBeginHeaders(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let frame = frame!.pointee.headers
  guard frame.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
  let (session, stream) = (session(of: context), frame.hd.stream_id)
  LoopActor.assumeIsolated { session.begin(stream) }
  return 0
}

private func onHeader(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  // Trailers come here too; they mean nothing to any handler.
  guard frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
  let (session, stream) = (session(of: context), frame!.pointee.hd.stream_id)
  let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
  let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
  LoopActor.assumeIsolated { session.receiveHeader(name, value, on: stream) }
  return 0
}

private func onData(
  _: OpaquePointer?, _ flags: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let session = session(of: context)
  // Unsafe in name only: the pointer is used during this call, and the call stays on this thread.
  nonisolated(unsafe) let bytes = UnsafeBufferPointer(start: bytes, count: count)
  LoopActor.assumeIsolated { session.receiveBody(bytes, on: stream) }
  return 0
}

private func onFrame(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let header = frame!.pointee.hd
  let carriesRequest =
    UInt32(header.type) == NGHTTP2_HEADERS.rawValue || UInt32(header.type) == NGHTTP2_DATA.rawValue
  guard carriesRequest, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
  let session = session(of: context)
  LoopActor.assumeIsolated { session.endRequest(on: header.stream_id) }
  return 0
}

private func onStreamClose(
  _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let session = session(of: context)
  LoopActor.assumeIsolated { session.end(stream) }
  return 0
}

/// Hands nghttp2 the next part of a response's body; it may be called during any write.
func onReadBody(
  _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let session = session(of: context)
  // Unsafe in name only: both pointers are used during this call, and the call stays on this thread.
  nonisolated(unsafe) let buffer = UnsafeMutableBufferPointer(start: buffer, count: capacity)
  nonisolated(unsafe) let flags = flags!
  return LoopActor.assumeIsolated { session.readBody(on: stream, into: buffer, flags: flags) }
}
