import EventLoop
import HTTP
import HTTPClient

/// Posts notifications, repeats them until they are received, and does to them what the settings say.
@LoopActor
final class NotificationPoster {
  /// One attempt that waits for its time.
  private struct Post: Sendable {
    var number: Int
    var url: String
    /// How many attempts there were.
    var earlier = 0
    /// Whether it is beside the usual attempts: nobody cares whether it succeeds.
    var isRepetition = false
  }

  var settings: NotificationSettings
  private(set) var archive = NotificationArchive()
  private(set) var counts = NotificationCounts()
  /// Receives the result of every attempt.
  var onAttempt: @LoopActor (SendResult) -> Void = { _ in }

  private let scale: LifeScale
  private let signer: StoreSigner
  private let now: @LoopActor () -> Int64
  private let makeClient: @LoopActor () -> HTTPClient
  private var client: HTTPClient?
  private var agenda = Agenda<Post>()
  private var timer: LoopTimer?
  private var running: [Int: Task<Void, Never>] = [:]
  private var nextTask = 0
  private var isClosed = false

  /// Apple's own limit is unknown; this one keeps a slow receiver from filling the simulator's memory.
  private static let mostAtOnce = 32
  private static let timeout: Duration = .seconds(20)

  /// - Parameter now: returns UNIX milliseconds.
  init(
    _ settings: NotificationSettings, scale: LifeScale, signer: StoreSigner, caFile: String?,
    now: @escaping @LoopActor () -> Int64
  ) {
    self.settings = settings
    self.scale = scale
    self.signer = signer
    self.now = now
    makeClient = {
      var configuration = HTTPClientConfiguration()
      configuration.caFile = caFile
      configuration.allowsPlainHTTP = true
      configuration.awaitsMultiplexing = false
      configuration.maxConnectionsPerHost = Self.mostAtOnce
      configuration.userAgent = "countersign-simulator"
      return HTTPClient(configuration)
    }
  }

  /// Attempts that wait for their time or are under way.
  var waiting: Int { agenda.count + running.count }

  /// Keeps a notification that is signed, and posts it.
  func send(_ notification: SimulatedNotification) {
    var notification = notification
    counts.told += 1
    // Nobody listens: there is nothing to lose.
    let fate = notification.urls.isEmpty ? NotificationFaults.Fate() : settings.faults.fate(of: notification.number)
    let time = now()
    if fate.isLost {
      counts.lost += 1
      notification.isLost = true
      notification.attempts = notification.urls.map {
        SimulatedNotification.Attempt(date: time, url: $0, result: fate.isBelieved ? .success : .noResponse)
      }
    }
    archive.add(notification)
    guard !fate.isLost else { return }
    if fate.delay > 0 { counts.delayed += 1 }
    for url in notification.urls {
      agenda.add(Post(number: notification.number, url: url), at: time + fate.delay)
      guard let repetition = fate.repetition else { continue }
      counts.repeated += 1
      agenda.add(
        Post(number: notification.number, url: url, isRepetition: true), at: time + fate.delay + repetition)
    }
    run()
  }

  /// Stops posting.
  func close() {
    isClosed = true
    timer?.close()
    timer = nil
    for task in running.values { task.cancel() }
    client?.close()
  }

  private func run() {
    guard !isClosed else { return }
    while running.count < Self.mostAtOnce, let entry = agenda.take(at: now()) { start(entry.item) }
    // With all hands full, the end of an attempt comes back here.
    guard running.count < Self.mostAtOnce, let next = agenda.next else { return }
    if timer == nil { timer = LoopTimer { [weak self] in self?.run() } }
    timer?.start(after: .milliseconds(min(max(1, next - now()), 60_000)))
  }

  private func start(_ post: Post) {
    guard let notification = archive[post.number] else { return }
    let client = self.client ?? makeClient()
    self.client = client
    let id = nextTask
    nextTask += 1
    counts.posts += 1
    if post.earlier > 0 { counts.retried += 1 }
    // The task is unstructured, because a timer starts it. `running` holds it, and `close` cancels it.
    running[id] = Task {
      let date = now()
      var (result, status): (SendResult, Int?) = (.success, nil)
      for body in notification.bodies(signer) where result == .success {
        (result, status) = await Self.post(body, to: post.url, with: client)
      }
      running[id] = nil
      guard !isClosed else { return }
      note(
        SimulatedNotification.Attempt(date: date, url: post.url, result: result, status: status), of: post,
        notification)
      run()
    }
  }

  private static func post(
    _ body: [UInt8], to url: String, with client: HTTPClient
  ) async -> (SendResult, Int?) {
    var request = HTTPClientRequest(
      "POST", url, headers: [("content-type", "application/json")], body: body, timeout: timeout,
      maxResponseBytes: 1 << 16)
    request.cutsLongResponse = true
    do throws(HTTPClientError) {
      let answer = try await client.send(request)
      return (SendResult(status: answer.status), answer.status)
    } catch {
      return (SendResult(error.code), nil)
    }
  }

  private func note(
    _ attempt: SimulatedNotification.Attempt, of post: Post, _ notification: SimulatedNotification
  ) {
    onAttempt(attempt.result)
    switch attempt.result {
    case .success: counts.received += 1
    case .unsuccessful: counts.refused += 1
    default: counts.unanswered += 1
    }
    guard !post.isRepetition else { return }
    archive.note(attempt, of: post.number)
    guard attempt.result != .success else { return }
    let version = notification.oldBodies == nil ? 2 : 1
    guard
      let wait = NotificationSchedule.wait(
        after: post.earlier + 1, version: version, in: notification.environment, scale)
    else {
      counts.givenUp += 1
      return
    }
    var next = post
    next.earlier += 1
    agenda.add(next, at: now() + wait)
  }
}
