import AppStore
import EventLoop
import Glibc

/// Verifies distinct transactions with a warm chain cache, one after the other on one thread.
///
/// The time covers the verification only: signature, chain, app, environment and the decoding of the whole payload.
struct VerifyBenchmark {
  /// How many transactions it signs before it verifies them in one go.
  private static let batch = 1_000

  /// Verifies until `seconds` of pure verification or `count` transactions have passed, whichever comes first.
  func run(seconds: Double, count: Int) throws -> [String: Double] {
    let minted = try MintedTransactions(at: unixMilliseconds())
    var spent = 0.0
    var number = 0
    var memoryAtStart: Int?
    while spent < seconds, number < count {
      let texts = try (number..<number + Self.batch).map(minted.signed)
      let start = Self.processorSeconds()
      for text in texts {
        guard let payload = minted.verifier.transaction(text, expecting: minted.apps).payload, payload.price == 10_990
        else { throw Unexpected(description: "a genuine transaction was not accepted") }
      }
      spent += Self.processorSeconds() - start
      number += Self.batch
      // After the first 100,000 verifications the allocator has the memory that it needs.
      if number == 100_000 { memoryAtStart = Self.residentKiB() }
    }
    let memory = Self.residentKiB()
    return [
      "verifications": Double(number), "seconds": spent, "perSecond": Double(number) / spent,
      "residentKiB": Double(memory), "residentKiBGrowth": Double(memory - (memoryAtStart ?? memory)),
    ]
  }

  /// The processor time of this thread: another process on the same core does not count.
  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func residentKiB() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
    let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
      separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) / 1024 : 0
  }
}

/// A verdict that makes a measurement worthless.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}
