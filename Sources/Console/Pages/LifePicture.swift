import Domain
import Formats
import Ledger

/// The periods of a purchase as a picture: what was paid, what was refunded, the grace period, the time in which Apple
/// tries to charge again, and now. A thin row below says when somebody owned it.
struct LifePicture {
  private let purchase: Purchase
  private let owners: [OwnershipPeriod]
  private let now: Int64
  private let begin: Int64
  private let end: Int64

  private static let width: Int64 = 1000

  init(_ purchase: Purchase, owners: [OwnershipPeriod] = [], now: Int64) {
    (self.purchase, self.owners, self.now) = (purchase, owners, now)
    let all = purchase.transactions.values
    begin = all.map { $0.purchaseDate.asTime }.min() ?? now
    let ends =
      all.compactMap { $0.expiresDate?.asTime } + [purchase.presentRenewal?.graceExpiresDate?.asTime ?? now, now]
    // At least a minute, so that nobody divides by nothing.
    end = max(ends.max() ?? now, begin.adding(60_000))
  }

  /// The place of a time, from 0 to 1000.
  func place(_ time: Int64) -> Int64 {
    let part = Double(min(max(time, begin), end).subtracting(begin)) / Double(end.subtracting(begin))
    return min(Self.width, Int64(exactly: (part * 1000).rounded()) ?? 0)
  }

  /// - Parameters:
  ///   - y: its upper edge.
  ///   - height: a period has 20, an owner 4.
  private func bar(
    _ from: Int64, _ to: Int64, _ name: String, _ words: String, y: Int = 8, height: Int = 20
  ) -> HTML {
    let (left, right) = (place(from), place(to))
    return .element(
      .rect,
      [
        .class(name), .of(.x, "\(left)"), .of(.y, "\(y)"), .of(.width, "\(max(3, right - left - 1))"),
        .of(.height, "\(height)"), .of(.rx, "2"),
      ], [.element(.title, [], [.text(words)])])
  }

  /// When Apple tries to charge again: from the end of the paid time, or of the grace period, until now. Apple signs no
  /// end of it.
  var retry: Range<Int64>? {
    guard let renewal = purchase.presentRenewal, renewal.isInBillingRetry == true,
      let paid = purchase.deciding.expiresDate
    else { return nil }
    let from = max(paid, renewal.graceExpiresDate ?? paid)
    return from < now ? from..<now : nil
  }

  var html: HTML {
    guard purchase.deciding.kind == .autoRenewable || purchase.transactions.count > 1 else { return .nothing }
    var pieces = purchase.transactions.values.sorted { $0.purchaseDate < $1.purchaseDate }.suffix(200).map { facts in
      let until = facts.expiresDate ?? facts.purchaseDate
      let words = "\(facts.productId): \(ConsoleTime.exact(facts.purchaseDate)) to \(ConsoleTime.exact(until))"
      return bar(
        facts.purchaseDate, until, facts.revocationDate == nil ? "paid" : "refunded",
        facts.revocationDate == nil ? words : words + ", refunded")
    }
    if let grace = purchase.presentRenewal?.graceExpiresDate, let paid = purchase.deciding.expiresDate, grace > paid {
      pieces.append(bar(paid, grace, "grace", "grace period until \(ConsoleTime.exact(grace))"))
    }
    if let retry {
      let words = "Apple has tried to charge again since \(ConsoleTime.exact(retry.lowerBound))"
      pieces.append(bar(retry.lowerBound, retry.upperBound, "retry", words))
    }
    pieces += owners.suffix(200).map { period in
      let until = period.endedAt.map { "until \(ConsoleTime.exact($0))" } ?? "until now"
      return bar(
        period.beganAt, period.endedAt ?? now, "owned",
        "somebody owned it from \(ConsoleTime.exact(period.beganAt)) \(until)", y: 33, height: 4)
    }
    let here = "\(place(now))"
    pieces.append(
      .element(
        .line, [.class("now"), .of(.x1, here), .of(.x2, here), .of(.y1, "2"), .of(.y2, "38")],
        [.element(.title, [], [.text("now")])]))
    let label = "Its life from \(ConsoleTime.date(begin)) to \(ConsoleTime.date(end))"
    return .element(
      .div, [.class("life")],
      [
        .element(
          .svg,
          [.of(.viewBox, "0 0 1000 40"), .of(.role, "img"), .of(.label, label), .of(.preserveAspectRatio, "none")],
          pieces),
        .element(
          .p, [.class("ends")],
          [
            .element(.span, [], [.text(ConsoleTime.date(begin))]),
            .element(
              .span, [.class("legend")],
              [
                .span("paid", class: "paid"), .span("grace period", class: "grace"),
                .span("billing retry", class: "retry"), .span("refunded", class: "refunded"),
                .span("owned", class: "owned"), .span("now", class: "now"),
              ]), .element(.span, [], [.text(ConsoleTime.date(end))]),
          ]),
      ])
  }
}
