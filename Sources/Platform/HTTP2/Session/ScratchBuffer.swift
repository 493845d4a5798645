/// Memory that all connections of a server or a client read into, one after the other; nothing stays in it.
final class ScratchBuffer {
  let bytes: UnsafeMutableRawBufferPointer

  init(count: Int) {
    bytes = .allocate(byteCount: count, alignment: 16)
  }

  deinit {
    bytes.deallocate()
  }
}

/// The buffers of a server or a client, which all of its connections share, because only one of them is at work at a time.
package final class Scratch {
  let received = ScratchBuffer(count: 64 << 10)
  let decrypted = ScratchBuffer(count: 16 << 10)
  var plaintext: [UInt8] = []

  /// Allocates them.
  package init() {}
}
