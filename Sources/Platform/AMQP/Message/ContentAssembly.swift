/// Puts together a content that arrives as a method, a header and body frames. A state machine by value.
struct ContentAssembly<Method> {
  private enum State {
    case idle
    case awaitingHeader(Method)
    case awaitingBody(Method, AMQPProperties, size: Int, [UInt8])
  }

  private var state = State.idle

  /// Starts a content. It drops an unfinished content, which would be a violation of the protocol.
  mutating func begin(_ method: Method) { state = .awaitingHeader(method) }

  /// Takes the header. Returns the content if it has no body.
  mutating func header(_ properties: AMQPProperties, bodySize: Int) -> (Method, AMQPProperties, [UInt8])? {
    guard case .awaitingHeader(let method) = state else { return nil }
    guard bodySize > 0 else {
      state = .idle
      return (method, properties, [])
    }
    var body: [UInt8] = []
    // The broker names the size. The buffer does not reserve memory for a peer's claim before the bytes have come.
    body.reserveCapacity(min(bodySize, 1 << 20))
    state = .awaitingBody(method, properties, size: bodySize, body)
    return nil
  }

  /// Takes a piece of the body. Returns the content when it is complete.
  mutating func body(_ piece: UnsafeRawBufferPointer) -> (Method, AMQPProperties, [UInt8])? {
    guard case .awaitingBody(let method, let properties, let size, var body) = state else { return nil }
    state = .idle  // drops the other reference to the bytes, so that appending does not copy them
    body.append(contentsOf: piece)
    if body.count >= size { return (method, properties, body) }
    state = .awaitingBody(method, properties, size: size, body)
    return nil
  }
}
