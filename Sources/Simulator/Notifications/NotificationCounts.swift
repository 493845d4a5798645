import JSON

/// How many notifications there were, and what became of them.
struct NotificationCounts: Equatable, Sendable {
  /// All that Apple had to tell.
  var told = 0
  /// Those that nobody posted.
  var lost = 0
  /// Those whose first attempt was late or out of order.
  var delayed = 0
  /// Attempts beside the usual ones.
  var repeated = 0
  /// All attempts.
  var posts = 0
  /// Attempts that were answered 200 to 206.
  var received = 0
  /// Attempts that were answered otherwise.
  var refused = 0
  /// Attempts without an answer.
  var unanswered = 0
  /// Attempts after a failed one.
  var retried = 0
  /// Notifications whose last attempt failed.
  var givenUp = 0

  func write(to json: inout JSONWriter) {
    json.member("told", Int64(told))
    json.member("lost", Int64(lost))
    json.member("delayed", Int64(delayed))
    json.member("repeated", Int64(repeated))
    json.member("posts", Int64(posts))
    json.member("received", Int64(received))
    json.member("refused", Int64(refused))
    json.member("unanswered", Int64(unanswered))
    json.member("retried", Int64(retried))
    json.member("givenUp", Int64(givenUp))
  }
}
