import EventLoop
import Glibc
import Testing

@testable import Gateway

@LoopActor
struct LongTextsTests {
  @Test func `a long text is read beside the loop`() async {
    let loop = pthread_self()
    let isOnLoop = await LongTexts(atOnce: 1).read { pthread_equal(pthread_self(), loop) != 0 }
    #expect(isOnLoop == false)
  }

  @Test func `a text more than are read at once is not read`() async {
    let texts = LongTexts(atOnce: 2)
    // The first two cannot end before the loop has turned.
    let taken = (1...2).map { number in Task.immediate { @LoopActor in await texts.read { number } } }
    #expect(await texts.read { 3 } == nil)
    for (number, task) in zip(1..., taken) { #expect(await task.value == number) }
    #expect(await texts.read { 4 } == 4)
  }
}
