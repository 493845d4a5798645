import EventLoop
import Testing

@testable import AMQP

/// The assembly of contents from frames.
struct ContentAssemblyTests {
  private let properties: AMQPProperties = {
    var properties = AMQPProperties()
    properties.messageID = "1"
    return properties
  }()

  private func feed(_ text: String, to assembly: inout ContentAssembly<String>) -> (String, AMQPProperties, [UInt8])? {
    Array(text.utf8).withUnsafeBytes { assembly.body($0) }
  }

  @Test func emptyBodyIsCompleteWithItsHeader() throws {
    var assembly = ContentAssembly<String>()
    assembly.begin("deliver")
    let complete = assembly.header(properties, bodySize: 0)
    let content = try #require(complete)
    #expect(content.0 == "deliver")
    #expect(content.1 == properties)
    #expect(content.2.isEmpty)
    #expect(assembly.header(properties, bodySize: 0) == nil)
  }

  @Test func severalFrames() throws {
    var assembly = ContentAssembly<String>()
    assembly.begin("deliver")
    #expect(assembly.header(properties, bodySize: 6) == nil)
    #expect(feed("ab", to: &assembly) == nil)
    #expect(feed("", to: &assembly) == nil)
    #expect(feed("cde", to: &assembly) == nil)
    let content = try #require(feed("f", to: &assembly))
    #expect(content.0 == "deliver")
    #expect(content.1 == properties)
    #expect(String(decoding: content.2, as: UTF8.self) == "abcdef")
    #expect(feed("g", to: &assembly) == nil)
  }

  @Test func contentsFollowEachOther() throws {
    var assembly = ContentAssembly<String>()
    for name in ["one", "two"] {
      assembly.begin(name)
      #expect(assembly.header(properties, bodySize: 3) == nil)
      let content = try #require(feed(name, to: &assembly))
      #expect(content.0 == name)
      #expect(content.2 == Array(name.utf8))
    }
  }

  /// A frame without a content makes no message, and a half-finished content does not leak into the next one.
  @Test func violationsOfTheOrder() throws {
    var assembly = ContentAssembly<String>()
    #expect(assembly.header(properties, bodySize: 0) == nil)
    #expect(feed("x", to: &assembly) == nil)
    assembly.begin("half")
    #expect(feed("x", to: &assembly) == nil)
    #expect(assembly.header(properties, bodySize: 2) == nil)
    #expect(feed("x", to: &assembly) == nil)
    assembly.begin("whole")
    #expect(assembly.header(properties, bodySize: 2) == nil)
    let content = try #require(feed("yz", to: &assembly))
    #expect(content.0 == "whole")
    #expect(content.2 == Array("yz".utf8))
  }

  @Test func aHugeClaimedSizeIsNotAllocated() {
    var assembly = ContentAssembly<String>()
    assembly.begin("deliver")
    #expect(assembly.header(properties, bodySize: .max) == nil)
    #expect(feed("x", to: &assembly) == nil)
  }
}

/// Delays between attempts to connect.
struct BackoffTests {
  @Test func bounds() {
    let ceilings: [Duration] = [50, 100, 200, 400, 800, 1600, 3000, 3000, 3000].map { .milliseconds($0) }
    for _ in 1...50 {
      var backoff = Backoff()
      for ceiling in ceilings {
        let delay = backoff.next()
        #expect(ceiling * 0.5 <= delay && delay <= ceiling)
      }
    }
  }

  /// After an outage, the processes of a fleet must not reconnect in step.
  @Test func delaysDiffer() {
    let delays = (1...50).map { _ in
      var backoff = Backoff()
      return backoff.next()
    }
    #expect(Set(delays).count > 1)
  }
}
