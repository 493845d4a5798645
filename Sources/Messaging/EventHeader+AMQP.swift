public import AMQP
public import Domain

extension AMQPValue {
  /// The header of an event in the form of AMQP.
  public init(_ header: EventHeader) {
    switch header {
    case .string(let text): self = .string(text)
    case .int(let number): self = .int(number)
    case .bool(let flag): self = .bool(flag)
    }
  }
}

extension EventHeader {
  /// Reads a header; `nil` for a type that Countersign does not read.
  init?(_ value: AMQPValue) {
    switch value {
    case .string(let text): self = .string(text)
    case .int(let number): self = .int(number)
    case .bool(let flag): self = .bool(flag)
    case .other: return nil
    }
  }
}
