import Configuration
import Testing

@Suite struct NearestNameTests {
  @Test(arguments: [
    ("chek-config", "check-config"), ("redis.ur", "redis.url"), ("--chcek", "--check"), ("wroker", "worker"),
    ("dead", "dead"), ("GATEWAY", "gateway"), ("Wroker", "worker"),
  ])
  func `a word that is nearly a name leads to it`(word: String, name: String) {
    #expect(NearestName.of(word, among: ["gateway", "check-config", "redis.url", "--check", "worker", "dead"]) == name)
  }

  @Test(arguments: ["", "x", "gate", "something-else", String(repeating: "a", count: 10_000)])
  func `a word far from all names leads nowhere`(word: String) {
    #expect(NearestName.of(word, among: ["gateway", "worker", String(repeating: "a", count: 9_999)]) == nil)
    #expect(NearestName.question(word, among: ["gateway", "worker"]) == "")
  }

  @Test func `the nearest name counts, and of two the first`() {
    #expect(NearestName.of("worker.retry", among: ["worker.retries", "worker.retr"]) == "worker.retr")
    #expect(NearestName.of("abcf", among: ["abcd", "abce"]) == "abcd")
    #expect(NearestName.question("abcf", among: ["abcd"]) == "; did you mean abcd?")
    // Nobody who wrote a name meant the same name.
    #expect(NearestName.question("abcd", among: ["abcd", "abce"]) == "")
  }
}
