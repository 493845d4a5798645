/// Memory into which all connections of a server or a client read, one after the other. Nothing stays in it.
final class ScratchBuffer {
  let bytes: UnsafeMutableRawBufferPointer

  init(count: Int) {
    bytes = .allocate(byteCount: count, alignment: 16)
  }

  deinit {
    bytes.deallocate()
  }
}

/// The buffers of a server or a client. All its connections share them, because only one connection works at a time.
package final class Scratch {
  let received = ScratchBuffer(count: 64 << 10)
  let decrypted = ScratchBuffer(count: 16 << 10)
  var plaintext: [UInt8] = []

  /// Allocates the buffers.
  package init() {}
}
