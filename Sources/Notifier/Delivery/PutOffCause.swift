import Ledger

/// The reason why a delivery goes back to wait without an attempt.
enum PutOffCause: String, CaseIterable {
  /// The endpoint has no free place in this process.
  case busy
  /// The endpoint's publisher has no free place in this process.
  case share
  /// The endpoint has `maxConcurrency` attempts under way in the fleet.
  case concurrency
  /// The endpoint's `maxPerSecond` is used up.
  case rate
  /// Another process makes the same attempt now.
  case copy
  /// Redis or the ledger cannot be reached.
  case store
  /// The publisher is in no file yet.
  case publisher
  /// The publisher's file has a mistake.
  case publisherBroken = "publisher_broken"
  /// The publisher is in shadow mode as far as this notifier knows, and perhaps others have read a newer file.
  case shadow
  /// The endpoint's secrets cannot be decrypted, so nobody could sign.
  case secret
  /// Notifiers died while they had the delivery, and now another such delivery runs alone.
  case suspect
  /// A newer notifier wrote a record that this one cannot read.
  case newerFormat = "newer_format"

  /// Sorts an error of the store.
  init(_ error: any Error) { self = error is UnreadableRecord ? .newerFormat : .store }
}
