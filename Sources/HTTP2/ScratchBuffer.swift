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
