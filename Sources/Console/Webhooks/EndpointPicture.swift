import Domain
import Ledger

/// The last 24 hours of an endpoint as two rows of bars: how many attempts succeeded, and how long they took.
struct EndpointPicture {
  let hours: [ConsoleEndpoint.Hour]

  private static let (barWidth, height): (Int64, Int64) = (10, 30)

  /// The height of the part of a bar, from 0 to 30. What is there at all is seen.
  static func part(_ count: Int64, of all: Int64) -> Int64 {
    guard all > 0, count > 0 else { return 0 }
    return min(height, max(2, count * height / all))
  }

  private func bar(_ place: Int, _ name: String, from top: Int64, _ height: Int64, _ words: String) -> HTML {
    .element(
      .rect,
      [
        .class(name), .of(.x, "\(Int64(place) * Self.barWidth)"), .of(.y, "\(top)"),
        .of(.width, "\(Self.barWidth - 2)"), .of(.height, "\(height)"), .of(.rx, "1"),
      ], [.element(.title, [], [.text(words)])])
  }

  /// An hour in words, for who points at its bar.
  static func words(_ hour: ConsoleEndpoint.Hour) -> String {
    let start = "From \(ConsoleTime.minute(hour.start))"
    guard hour.made > 0 else { return "\(start): no attempt" }
    let success = "\(hour.delivered) of \(hour.made) succeeded"
    return "\(start): \(success)" + (hour.medianMilliseconds.map { ", half were faster than \($0) ms" } ?? "")
  }

  private var success: [HTML] {
    hours.enumerated().flatMap { place, hour -> [HTML] in
      let words = Self.words(hour)
      let good = Self.part(hour.delivered, of: hour.made)
      let bad = hour.made > hour.delivered ? max(2, Self.height - good) : 0
      guard hour.made > 0 else { return [bar(place, "none", from: Self.height - 1, 1, words)] }
      return (good > 0 ? [bar(place, "good", from: Self.height - good, good, words)] : [])
        + (bad > 0 ? [bar(place, "bad", from: 0, bad, words)] : [])
    }
  }

  private var latency: [HTML] {
    let most = hours.compactMap(\.medianMilliseconds).max() ?? 0
    return hours.enumerated().map { place, hour in
      guard let median = hour.medianMilliseconds else {
        return bar(place, "none", from: Self.height - 1, 1, Self.words(hour))
      }
      let height = max(2, Self.part(median, of: most))
      return bar(place, "time", from: Self.height - height, height, Self.words(hour))
    }
  }

  private func row(_ name: String, _ label: String, _ bars: [HTML], _ words: String) -> HTML {
    .element(
      .div, [],
      [
        .span(name, class: "name"),
        .element(
          .svg,
          [
            .of(.viewBox, "0 0 \(Int64(hours.count) * Self.barWidth) \(Self.height)"), .of(.role, "img"),
            .of(.label, label), .of(.preserveAspectRatio, "none"),
          ], bars), .span(words, class: "none"),
      ])
  }

  var html: HTML {
    let (made, delivered) = (hours.reduce(0) { $0 + $1.made }, hours.reduce(0) { $0 + $1.delivered })
    guard made > 0 else { return .nothing }
    let slowest = hours.compactMap(\.medianMilliseconds).max() ?? 0
    return .section(
      "The last 24 hours",
      [
        .element(
          .div, [.class("sparks")],
          [
            row(
              "Success", "Success of each of the last 24 hours: \(delivered) of \(made) attempts", success,
              "\(delivered * 100 / made) %"),
            row(
              "Time", "Median time of each of the last 24 hours, at most \(slowest) ms", latency,
              "up to \(ConsoleTime.milliseconds(slowest))"),
          ]),
        .p(
          .text(
            "A bar is an hour, and the last one ends now. Each shows its newest \(ConsoleEndpoints.mostOfHour) attempts "
              + "at most: the share that succeeded, and the time that half of them took."), class: "none"),
      ])
  }
}
