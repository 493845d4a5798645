import Ledger
import Testing

@testable import Console

/// The last day of an endpoint as bars.
struct EndpointPictureTests {
  private static func hour(_ made: Int64, _ delivered: Int64, _ median: Int64?) -> ConsoleEndpoint.Hour {
    ConsoleEndpoint.Hour(
      start: 1_795_341_600_000, made: made, delivered: delivered, medianMilliseconds: median)
  }

  @Test(arguments: [(0, 0, 0), (0, 9, 0), (9, 9, 30), (1, 2, 15), (1, 1000, 2), (-1, 9, 0)] as [(Int64, Int64, Int64)])
  func `a bar is seen if there is anything`(count: Int64, all: Int64, height: Int64) {
    #expect(EndpointPicture.part(count, of: all) == height)
  }

  @Test func `an hour says how it went`() {
    let start = EndpointPicture.words(Self.hour(0, 0, nil)).prefix { $0 != ":" }
    #expect(start.hasPrefix("From "))
    #expect(EndpointPicture.words(Self.hour(0, 0, nil)).hasSuffix(": no attempt"))
    #expect(EndpointPicture.words(Self.hour(50, 49, 12)).hasSuffix("49 of 50 succeeded, half were faster than 12 ms"))
  }

  @Test func `failed and missing hours look different`() {
    let page = EndpointPicture(hours: [Self.hour(0, 0, nil), Self.hour(4, 2, 40), Self.hour(2, 0, 80)]).html.source
    #expect(page.components(of: "class=\"bad\"") == 2 && page.components(of: "class=\"good\"") == 1)
    // One for each row.
    #expect(page.components(of: "class=\"none\" x=") == 2 && page.components(of: "class=\"time\"") == 2)
    #expect(page.contains(">33 %<") && page.contains("up to 80\u{a0}ms") && !page.contains("style"))
    #expect(EndpointPicture(hours: [Self.hour(0, 0, nil)]).html == .nothing)
    #expect(EndpointPicture(hours: []).html == .nothing)
  }
}

extension String {
  /// How often a text is in it.
  fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
