import EventLoop
import Glibc
import Testing

@testable import Gateway

@LoopActor
struct LongTextsTests {
  private static let long = LongTexts.longestOnLoop + 1

  @Test func `only a long text is read beside the loop`() async {
    let loop = pthread_self()
    for (size, isRight) in [(0, true), (LongTexts.longestOnLoop, true), (Self.long, false)] {
      let isOnLoop = await LongTexts(atOnce: 1).read(size) { pthread_equal(pthread_self(), loop) != 0 }
      #expect(isOnLoop == isRight)
    }
  }

  @Test func `a text more than are read at once is not read`() async {
    let texts = LongTexts(atOnce: 2)
    // The first two cannot end before the loop has turned.
    let taken = (1...2).map { number in Task.immediate { @LoopActor in await texts.read(Self.long) { number } } }
    #expect(await texts.read(Self.long) { 3 } == nil)
    #expect(await texts.read(1) { 3 } == 3)
    for (number, task) in zip(1..., taken) { #expect(await task.value == number) }
    #expect(await texts.read(Self.long) { 4 } == 4)
  }
}
