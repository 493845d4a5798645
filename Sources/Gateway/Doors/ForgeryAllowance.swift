package import EventLoop
package import Formats

/// Which forged receipts the audit log keeps.
///
/// Every copy of an app has its client token, so anybody can send forged receipts by the thousand. The log keeps ten
/// different ones a minute for each app, from each gateway. The metric of the door's answers counts them all.
@LoopActor
package final class ForgeryAllowance {
  /// The app whose token came with the receipts.
  package struct App: Hashable {
    package let publisherId: Int64
    package let bundleId: ExactText

    /// Names an app.
    package init(publisherId: Int64, bundleId: ExactText) {
      (self.publisherId, self.bundleId) = (publisherId, bundleId)
    }
  }

  /// The most receipts of an app that are kept in a minute.
  private static let most = 10
  private static let minute: Int64 = 60_000

  private struct Window {
    let start: Int64
    var receipts: Set<[UInt8]> = []
  }

  private var windows: [App: Window] = [:]

  /// Whether the log keeps a forged receipt. If so, the receipt counts from now on.
  ///
  /// - Parameters:
  ///   - sha256: the receipt's.
  ///   - now: milliseconds since 1970.
  package func admits(_ sha256: [UInt8], of app: App, now: Int64) -> Bool {
    var window = windows[app] ?? Window(start: now)
    // A clock may be set back.
    if !(window.start..<window.start + Self.minute).contains(now) { window = Window(start: now) }
    let isNew = window.receipts.count < Self.most && window.receipts.insert(sha256).inserted
    windows[app] = window
    return isNew
  }
}
