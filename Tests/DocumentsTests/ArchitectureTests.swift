import FoundationEssentials
import TestSupport
import Testing

/// Compares docs/internals/architecture.md with Package.swift.
struct ArchitectureTests {
  @Test func tableListsEveryModuleWithItsFolder() throws {
    let manifest = try text("Package.swift")
    let page = try text("docs/internals/architecture.md")
    let modules = manifest.matches(of: /(?:library|executable|support)\(\s*"(\w+)", "([\w\/]+)"/)
    #expect(modules.count > 20)
    for module in modules {
      #expect(page.contains("\n| `\(module.1)` | `\(module.2)` | "), "\(module.1) in Sources/\(module.2)")
    }
  }

  @Test func tableOfKeysListsEveryKey() throws {
    let page = try text("docs/internals/architecture.md")
    let folder = "Sources/Coordination/Keys/"
    let files = try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/" + folder)
    #expect(files.count > 3)
    for file in files {
      let keys = try text(folder + file).matches(of: /\\\(prefix\)([a-z\-]+)/)
      #expect(!keys.isEmpty)
      for key in keys { #expect(page.contains(try Regex("\n\\| `\(key.1)[:`]")), "\(key.1)") }
    }
  }

  /// Whoever publishes an event in another way forgets some of those who must get it.
  @Test func eventsLeaveByTheOneOutlet() throws {
    let allowed = [
      // The copies for the subscribers, and for the fleet's own queue; the latter again after a lost connection.
      "EventMessage.message(": [
        "Service/Events/EventOutlet.swift", "Service/Events/LostEvents.swift",
        "Service/Subscribers/SubscriberOutlet.swift",
      ],
      // To one subscriber: only the outlet knows which events nobody is told.
      "isOwed:": ["Service/Subscribers/EventSubscribers.swift", "Service/Subscribers/SubscriberOutlet.swift"],
      "subscribers.publish(": ["Service/Events/EventOutlet.swift"],
      "subscribers.retry(": ["Service/Events/EventOutlet.swift"],
      ".publishOwed(": ["Worker/Subscribers/OwedEventRuns.swift"],
      // What a commit tells goes to the outlet, and each role has one.
      ".takeEvents()": ["Service/Events/EventOutlet.swift"],
      // The console has no broker, and a command has no outlet. A worker publishes what its import brings.
      ".leaveInOutbox()": [
        "Console/Actions/ConsoleAPI+Grants.swift", "Console/Actions/ConsoleAPI+Release.swift",
        "Console/Actions/ConsoleAPI+Sandbox.swift", "Console/Actions/ConsoleAPI+Transfer.swift",
        "Countersign/Commands/Import/ImportCommand.swift",
      ],
      " EventOutlet(": ["Service/Events/RoleContext+Events.swift"],
      ".makeOutlet(": ["Gateway/GatewayParts.swift", "Notifier/NotifierParts.swift", "Worker/WorkerParts.swift"],
      // The publishers whose endpoints are owed events.
      "webhooks.isEmpty": ["Domain/Publishers/EventAudience.swift"],
      // Together with what subscribers are owed, and with the next commit of a worker.
      "Event.confirmed(": [
        "Ledger/Commits/CommitWriting.swift", "Ledger/Commits/Commits.swift", "Ledger/Subscribers/OwedEvents.swift",
        "Service/Events/ConfirmedEvents.swift",
      ],
    ]
    let sources = Repository.root + "/Sources/"
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources)
    for (call, places) in allowed {
      let found = try files.filter { file in
        guard file.hasSuffix(".swift") else { return false }
        return try text("Sources/" + file).contains(call)
      }
      #expect(found.sorted() == places, "\(call)")
    }
  }

  /// A role's tasks are in `RunningTasks`, so that its stop ends them, and what it does again and again is a `Chore`.
  /// Each file of this list awaits the tasks that it begins, or somebody waits for each of their answers. The numbers
  /// say in how many places.
  @Test func eachTaskHasSomebodyWhoWaitsForIt() throws {
    let allowed = [
      "Console/API/ConsoleAPI+Traffic.swift": 1,
      "Console/OpenID/OpenIDProvider.swift": 2,
      "Countersign/Commands/Shadow/ShadowCommand.swift": 1,
      "Doors/Iaptic/IapticReader.swift": 1,
      "Gateway/Doors/DoorRegistration.swift": 1,
      "Gateway/Intake/NotificationIntake.swift": 2,
      "Gateway/Webhooks/WebhookAPI+Replay.swift": 1,
      "Ledger/Commits/Commits.swift": 1,
      "Ledger/Notifications/NotificationStore.swift": 1,
      "Ledger/Webhooks/DeliveryRecorder.swift": 2,
      "Messaging/Dead/DeadQueueChange.swift": 1,
      "Messaging/Topology+DeadQueues.swift": 1,
      "Notifier/Delivery/DeliveryRun+Dependencies.swift": 1,
      "Notifier/Delivery/DeliveryRun.swift": 1,
      "Notifier/Endpoints/EndpointDirectory.swift": 1,
      "Service/Lifecycle/Chore.swift": 2,
      "Service/Lifecycle/SchemaWait.swift": 2,
      "Service/Lifecycle/ServiceGroup.swift": 1,
      "Service/Lifecycle/SystemdNotifier.swift": 1,
      "Service/RunningTasks.swift": 2,
      "Worker/Import/ImportFeed.swift": 1,
      "Worker/Import/ImportRun.swift": 1,
      "Worker/Subscribers/OwedEventRuns.swift": 1,
      "Worker/Sweep/Sweep.swift": 1,
    ]
    let beginning = try Regex(
      #"\bTask(\.immediate|\.detached|\.init)?(<[^\n{]*>)?(\.immediate)? ?[({]|\.start\(\s*after: [^\n]*, every: "#)
    let sources = Repository.root + "/Sources/"
    var found: [String: Int] = [:]
    for file in try FileManager.default.subpathsOfDirectory(atPath: sources) {
      // The drivers of servers and the simulator are no role.
      guard file.hasSuffix(".swift"), !file.hasPrefix("Platform/"), !file.hasPrefix("Simulator/"),
        file != "Countersign/main.swift"
      else { continue }
      let count = try text("Sources/" + file).matches(of: beginning).count
      if count > 0 { found[file] = count }
    }
    #expect(found == allowed)
  }

  /// Whatever else takes an event to send it does not ask who is told. So each function that does is in the list, and
  /// whoever adds one finds this test.
  @Test func nothingElseTakesAnEventToPublishIt() throws {
    let allowed = [
      "Messaging/EventMessage.swift", "Service/Events/EventOutlet.swift", "Service/Events/LostEvents.swift",
      "Service/Subscribers/EventSubscribers.swift", "Service/Subscribers/SubscriberOutlet.swift",
    ]
    // A function, a member or a parameter, such as `func publish(_ event: Event)` and `let publish: (Event) -> …`.
    let sending = try Regex(
      #"(?i)\b(publish|send|tell|retry|message|emit)\w*(\(\s*_ \w+: |: [^=\n]*\((_ \w+: )?)\[?Event\]?[,)]"#)
    let sources = Repository.root + "/Sources/"
    let found = try FileManager.default.subpathsOfDirectory(atPath: sources).filter { file in
      guard file.hasSuffix(".swift") else { return false }
      return try text("Sources/" + file).firstMatch(of: sending) != nil
    }
    // The ledger's rows are no way out. Doors and the runs of owed events pass events to the outlet.
    let others = [
      "Gateway/Doors/DoorContext.swift", "Ledger/Events/Event+SQL.swift", "Worker/Subscribers/OwedEventRuns.swift",
    ]
    #expect(found.sorted() == (allowed + others).sorted())
    // Beyond their module, only the outlet publishes, and what is published again goes into the fleet's own queue.
    let open = try Regex(#"public func \w+\(\s*_ \w+: \[?Event\]?[,)]"#)
    for file in ["EventSubscribers", "SubscriberOutlet"] {
      #expect(try text("Sources/Service/Subscribers/\(file).swift").firstMatch(of: open) == nil, "\(file)")
    }
  }

  /// A line that is written stays. Only ``Log/Value/customer(_:of:)`` may hold a customer's id.
  @Test func noLogLineTakesACustomersIdAsText() throws {
    let sources = Repository.root + "/Sources/"
    let field = try Regex(
      #"(?i)"[a-z]*(customer|user|email|username)[a-z]*"\s*:\s*\.(string|text|failure)\(|"#
        + #"\.(string|text)\([^)"]*(customerId|applicationUsername|userIdentifier|\.email)\b"#)
    for file in try FileManager.default.subpathsOfDirectory(atPath: sources) {
      guard file.hasSuffix(".swift") else { continue }
      for line in try text("Sources/" + file).split(separator: "\n") where line.contains("log") || line.contains("[\"")
      {
        #expect(line.firstMatch(of: field) == nil, "\(file): \(line)")
      }
    }
  }

  /// A call between a failure and its code may change the code: even a `deinit` that closes a descriptor does. So each
  /// place keeps the code right behind the failed call, and hands it on as a value.
  @Test func noTextIsMadeFromErrnoItself() throws {
    let sources = Repository.root + "/Sources/"
    for file in try FileManager.default.subpathsOfDirectory(atPath: sources) where file.hasSuffix(".swift") {
      // This one ends the process, and its text is made only then.
      guard !file.hasSuffix("Observability/TraceParent.swift") else { continue }
      for line in try text("Sources/" + file).split(separator: "\n") where line.contains("errno") {
        #expect(!line.contains("strerror(errno)") && !line.contains("contains(errno)"), "\(file): \(line)")
      }
    }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: Repository.root + "/" + path)), as: UTF8.self)
  }
}
