/// The deliveries of a channel that were not answered yet, and those to be acknowledged at the end of the loop's turn.
///
/// A broker replicates every acknowledgement to a quorum queue's members; one with the bit `multiple` (AMQP 0-9-1, section
/// 1.8.3.13) stands for all deliveries up to its tag that were not answered before.
struct Acknowledgements {
  /// What is sent for some of the deliveries.
  struct Acknowledgement: Equatable {
    let tag: UInt64
    let multiple: Bool
  }

  private var open: Set<UInt64> = []
  private var wanted: [UInt64] = []

  /// Notes a delivery.
  mutating func delivered(_ tag: UInt64) { open.insert(tag) }

  /// Notes that a delivery was given back.
  mutating func returned(_ tag: UInt64) { open.remove(tag) }

  /// Notes that a delivery is to be acknowledged; false when it was answered before, which the broker would take for an
  /// error of the channel.
  mutating func acknowledge(_ tag: UInt64) -> Bool {
    guard open.remove(tag) != nil else { return false }
    wanted.append(tag)
    return true
  }

  /// Takes what is to be sent: one for all deliveries before the first that is still open, and one for each other.
  mutating func take() -> [Acknowledgement] {
    guard wanted.count > 1 else {
      defer { wanted.removeAll(keepingCapacity: true) }
      return wanted.map { Acknowledgement(tag: $0, multiple: false) }
    }
    let first = open.min() ?? .max
    var answers: [Acknowledgement] = []
    var together: (last: UInt64, count: Int) = (0, 0)
    for tag in wanted {
      if tag < first {
        together = (max(tag, together.last), together.count + 1)
      } else {
        answers.append(Acknowledgement(tag: tag, multiple: false))
      }
    }
    wanted.removeAll(keepingCapacity: true)
    if together.count > 0 {
      answers.insert(Acknowledgement(tag: together.last, multiple: together.count > 1), at: 0)
    }
    return answers
  }
}
