/// The unanswered deliveries of a channel, and the deliveries to acknowledge at the end of the loop's turn.
///
/// A broker replicates every acknowledgement to the members of a quorum queue. One acknowledgement with the bit
/// `multiple` (AMQP 0-9-1, section 1.8.3.13) stands for all unanswered deliveries up to its tag.
struct Acknowledgements {
  /// One acknowledgement, for one or several deliveries.
  struct Acknowledgement: Equatable {
    let tag: UInt64
    let multiple: Bool
  }

  private var open: Set<UInt64> = []
  private var wanted: [UInt64] = []

  /// Notes a delivery.
  mutating func delivered(_ tag: UInt64) { open.insert(tag) }

  /// Notes that the consumer gave a delivery back.
  mutating func returned(_ tag: UInt64) { open.remove(tag) }

  /// Notes that the consumer gave all unanswered deliveries back, up to a tag. Returns false if there are none: the
  /// broker would take the answer for an error of the channel.
  mutating func returnAll(upTo tag: UInt64) -> Bool {
    let rest = open.filter { $0 > tag }
    defer { open = rest }
    return rest.count < open.count
  }

  /// Plans the acknowledgement of a delivery.
  ///
  /// Returns false if the delivery was answered before: the broker would take a second answer for an error of the
  /// channel.
  mutating func acknowledge(_ tag: UInt64) -> Bool {
    guard open.remove(tag) != nil else { return false }
    wanted.append(tag)
    return true
  }

  /// Takes the planned acknowledgements: one for all deliveries before the first unanswered one, and one for each
  /// other.
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
