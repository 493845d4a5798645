import Coordination
import EventLoop
import Service

/// Something about the fleet that a person must look at, as its processes tell it.
///
/// It has the name and the runbook of the alert in `ops/prometheus/alerts.yml` that fires for the same reason. The page
/// looks at one moment, while alerts wait for some minutes, so the page may tell more.
struct FleetAlarm: Equatable, Sendable {
  /// What is wrong, in a sentence.
  let words: String
  let alert: String
  /// The name of the page in `docs/operate/runbooks`, without its ending.
  let runbook: String

  /// The alarms of a fleet, the gravest first.
  ///
  /// - Parameter beats: what the processes have told last.
  static func all(of beats: [FleetBeat]) -> [FleetAlarm] {
    let heard = beats.filter { !$0.isSilent }
    return silent(beats) + missing(heard) + heard.flatMap(ofProcess) + shared(heard)
  }

  private init(_ words: String, _ alert: String, _ runbook: String) {
    (self.words, self.alert, self.runbook) = (words, alert, runbook)
  }

  private static func silent(_ beats: [FleetBeat]) -> [FleetAlarm] {
    beats.filter(\.isSilent).map { beat in
      FleetAlarm(
        "The \(beat.role) \(beat.place) has been silent for \(ConsoleTime.duration(beat.silence)).",
        beat.role == "console" ? "CountersignConsoleDown" : "CountersignRoleDown", "role-down")
    }
  }

  /// Nobody can do without these roles. A fleet without webhooks has no notifier.
  private static func missing(_ beats: [FleetBeat]) -> [FleetAlarm] {
    ["gateway", "worker"].filter { role in !beats.contains { $0.role == role } }.map { role in
      FleetAlarm("No \(role) runs.", "CountersignRoleDown", "role-down")
    }
  }

  /// What one process has trouble with, and others may not.
  private static func ofProcess(_ beat: FleetBeat) -> [FleetAlarm] {
    let who = "The \(beat.role) \(beat.place)"
    var found: [FleetAlarm] = []
    func tell(_ isTrue: Bool, _ words: String, _ alert: String, _ runbook: String) {
      if isTrue { found.append(FleetAlarm("\(who) \(words).", alert, runbook)) }
    }
    for connection in beat.values("countersign_connection_up") where connection.value == 0 {
      let name = connection.labels.first ?? ""
      // A subscriber's own alarm tells how far it is behind.
      guard !name.hasPrefix("subscriber ") else { continue }
      tell(name == "ledger", "has no connection to the ledger", "CountersignLedgerAway", "ledger-away")
      tell(name != "ledger", "has no connection \(name)", "CountersignConnectionDown", "connection-down")
    }
    for refused in beat.values("countersign_redis_writes_refused") where refused.value == 1 {
      tell(
        true, "gets \(refused.labels.first ?? "an error") from Redis for each write", "CountersignRedisRefusesWrites",
        "redis-refuses-writes")
    }
    tell(
      beat.value("countersign_configuration_current") == 0, "cannot use the present configuration",
      "CountersignConfigurationRefused", "configuration-refused")
    tell(
      (beat.value(FleetHeart.longestTurn) ?? 0) > 1, "stood still for more than a second", "CountersignLoopStalls",
      "loop-stalls")
    tell(
      (beat.value(FleetHeart.droppedLines) ?? 0) > 0, "has dropped lines of its log",
      "CountersignLogLinesDropped", "log-lines-dropped")
    tell(
      (beat.value("countersign_jwks_overdue_seconds") ?? 0) > 900, "cannot fetch the keys of an identity provider",
      "CountersignKeySetOverdue", "key-set-overdue")
    return found
  }

  /// Which apps have a key that Apple refuses; the first three.
  private static func names(ofRefused beats: [FleetBeat]) -> String {
    let apps = Set(beats.flatMap { $0.refusedApps ?? [] }.map { "\($0.bundleId) of publisher \($0.publisherId)" })
    guard !apps.isEmpty else { return "" }
    return ": " + apps.sorted().prefix(3).joined(separator: ", ") + (apps.count > 3 ? ", and others" : "")
  }

  /// What each process of a role tells alike: the worst of them counts.
  private static func shared(_ beats: [FleetBeat]) -> [FleetAlarm] {
    func most(_ name: String, _ labels: String...) -> Double {
      beats.flatMap { $0.values(name) }.filter { labels.isEmpty || $0.labels == labels }.map(\.value).max() ?? 0
    }
    func count(_ number: Double, _ what: String) -> String {
      let number = ConsoleNumber.text(number)
      return "\(number) \(what)\(number == "1" ? "" : "s")"
    }
    var found: [FleetAlarm] = []
    func tell(_ isTrue: Bool, _ words: String, _ alert: String, _ runbook: String) {
      if isTrue { found.append(FleetAlarm(words, alert, runbook)) }
    }
    let refusing = most("countersign_apple_refused_apps")
    tell(
      refusing > 0, "Apple refuses the key of \(count(refusing, "app"))\(names(ofRefused: beats)).",
      "CountersignAppleRefusesKey", "apple-refuses-key")
    let absent = most("countersign_publishers_broken", "absent")
    tell(
      absent > 0, "\(count(absent, "publisher")) cannot be served, because of a mistake in a file.",
      "CountersignPublisherAbsent", "publisher-broken")
    let kept = most("countersign_publishers_broken", "kept")
    tell(
      kept > 0, "A mistake in a file keeps the changes of \(count(kept, "publisher")) out: the earlier content counts.",
      "CountersignPublisherFileBroken", "publisher-broken")
    tell(most("countersign_redis_evicts") == 1, "Redis may delete keys.", "CountersignRedisEvicts", "redis-evicts")
    for (queue, number) in deepest("countersign_dead_messages", beats) where number > 0 {
      let isJobs = queue.hasSuffix(".jobs.dead")
      tell(
        true, "\(count(number, "message")) in \(queue), given up.",
        isJobs ? "CountersignDeadJobs" : "CountersignDeadDeliveries", isJobs ? "dead-jobs" : "dead-deliveries")
    }
    let aside = most("countersign_notifications_put_aside")
    tell(
      aside > 0, "\(count(aside, "notification")) put aside, because workers died of them.",
      "CountersignNotificationPutAside", "put-aside")
    let late = most("countersign_timer_backlog_seconds")
    tell(
      late > 3600, "Looks at purchases are late: the oldest by \(ConsoleTime.duration(Int64(clamping: late * 1000))).",
      "CountersignTimersLate", "timers-late")
    let deadlines = beats.flatMap { $0.values("countersign_refund_deadline_seconds") }.map(\.value).min() ?? 43_200
    tell(
      deadlines < 10_800,
      "A request for a refund must be answered within \(ConsoleTime.duration(Int64(clamping: deadlines * 1000))).",
      "CountersignRefundRequestDue", "refund-requests")
    tell(
      most("countersign_history_gap_seconds") > 21_600, "Apple's Notification History has not been read for hours.",
      "CountersignHistoryGap", "notifications")
    let quiet = most("countersign_silent_apps", "Production")
    tell(quiet > 0, "Apple posts nothing about \(count(quiet, "app")).", "CountersignAppSilent", "notifications")
    for (subscriber, seconds) in deepest("countersign_subscriber_oldest_owed_seconds", beats) where seconds > 600 {
      tell(
        true,
        "The subscriber \(subscriber) has missed events for \(ConsoleTime.duration(Int64(clamping: seconds * 1000))).",
        "CountersignSubscriberBehind", "subscriber-behind")
    }
    return found
  }

  /// The greatest number that any process tells for each label.
  static func deepest(_ name: String, _ beats: [FleetBeat]) -> [(label: String, value: Double)] {
    let all = beats.flatMap { $0.values(name) }.compactMap { reading in reading.labels.first.map { ($0, reading.value) }
    }
    return Dictionary(all, uniquingKeysWith: max).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension FleetBeat {
  /// Whether the process may be gone: nobody has heard of it for some beats.
  var isSilent: Bool { silence >= FleetBeats.silence.wholeMilliseconds }
}
