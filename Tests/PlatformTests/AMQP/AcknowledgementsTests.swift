import Testing

@testable import AMQP

/// The acknowledgements for the answers of one turn, by value.
struct AcknowledgementsTests {
  private func answers(delivered: ClosedRange<UInt64>, _ acknowledged: UInt64...) -> [String] {
    var acknowledgements = Acknowledgements()
    for tag in delivered { acknowledgements.delivered(tag) }
    for tag in acknowledged {
      let isFirst = acknowledgements.acknowledge(tag)
      #expect(isFirst)
    }
    return acknowledgements.take().map { "\($0.tag)\($0.multiple ? "…" : "")" }
  }

  @Test func `one stands for all before the first that is open`() {
    #expect(answers(delivered: 1...9, 1, 2, 3) == ["3…"])
    #expect(answers(delivered: 1...3, 3, 1, 2) == ["3…"])
    #expect(answers(delivered: 1...9, 2, 1, 3, 5, 4) == ["5…"])
  }

  @Test func `what comes after an open one is told by itself`() {
    #expect(answers(delivered: 1...9, 2, 3) == ["2", "3"])
    #expect(answers(delivered: 1...9, 1, 2, 4, 6) == ["2…", "4", "6"])
    #expect(answers(delivered: 1...9, 1, 4) == ["1", "4"])
    #expect(answers(delivered: 1...9, 1) == ["1"])
    #expect(answers(delivered: 1...9).isEmpty)
  }

  @Test func `no answer is given twice`() {
    var acknowledgements = Acknowledgements()
    for tag in UInt64(1)...6 { acknowledgements.delivered(tag) }
    acknowledgements.returned(2)
    let taken = [2, 1, 1, 3, 99].map { acknowledgements.acknowledge($0) }
    #expect(taken == [false, true, false, true, false])
    // The consumer gave the second message back, so the broker does not count it among those up to the third.
    let first = acknowledgements.take()
    #expect(first == [.init(tag: 3, multiple: true)])
    let second = acknowledgements.take()
    #expect(second.isEmpty)
  }

  @Test func `everything up to a tag is given back once`() {
    var acknowledgements = Acknowledgements()
    for tag in UInt64(1)...4 { acknowledgements.delivered(tag) }
    let isPlanned = acknowledgements.acknowledge(1)
    #expect(isPlanned)
    let given = [1, 3, 3].map { acknowledgements.returnAll(upTo: $0) }
    #expect(given == [false, true, false])
    let taken = [2, 3, 4].map { acknowledgements.acknowledge($0) }
    #expect(taken == [false, false, true])
  }
}
