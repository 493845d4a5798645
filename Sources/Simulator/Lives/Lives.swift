import EventLoop

/// All lives of a simulator. It lets time pass for them, and tells every change.
@LoopActor
final class Lives {
  /// A change, with the life as it is after it.
  struct Change {
    var life: Life
    var notice: LifeNotice
    /// The date of the notification's signatures, in UNIX milliseconds.
    var date: Int64
  }

  /// Receives every change when it happens.
  var onChange: @LoopActor (Change) -> Void = { _ in }

  /// Whether nothing happens by itself. Signed dates still pass, so access ends when it ends.
  var isHeld = false { didSet { if !isHeld { startTimer() } } }

  let scale: LifeScale
  private let now: @LoopActor () -> Int64
  private var numbers: LifeNumbers
  private var lives: [String: Life] = [:]
  /// The lives in the order in which they began.
  private(set) var order: [String] = []
  private var places: [String: Int] = [:]
  /// The life of each transaction.
  private var owners: [String: String] = [:]
  /// The lives of family members, by the life of the one who pays.
  private var families: [String: [String]] = [:]
  private var agenda = Agenda<String>()
  private var timer: LoopTimer?
  private var isClosed = false

  /// How many changes one turn of the loop makes. Each is signed, and other work must not wait too long.
  private static let turn = 50

  /// - Parameter now: returns UNIX milliseconds.
  init(scale: LifeScale, now: @escaping @LoopActor () -> Int64) {
    self.scale = scale
    self.now = now
    numbers = LifeNumbers(start: now())
  }

  var count: Int { order.count }

  /// Begins a life.
  ///
  /// - Throws: when the id is in use.
  func begin(_ id: String, _ terms: LifeTerms) throws(ControlRefusal) -> Life {
    guard owners[id] == nil else { throw .conflict("there is a transaction \(id) already") }
    let life = Life(id, terms, scale: scale, now: now(), &numbers)
    take(life)
    if !terms.isQuiet { tell(life.beginning, of: id) }
    return try self.life(id)
  }

  /// Lets something happen to a life.
  func apply(_ action: LifeAction, to transactionId: String) throws(ControlRefusal) -> Life {
    var life = try self.life(transactionId)
    let wasRevoked = life.state == .revoked
    if case .upgrade(let upgrade) = action, let id = upgrade.originalTransactionId, owners[id] != nil {
      throw .conflict("there is a transaction \(id) already")
    }
    let effect = try life.apply(action, at: now(), &numbers)
    put(life)
    if let successor = effect.successor { take(successor) }
    if let notice = effect.notice { tell(notice, of: life.id) }
    if let successor = effect.successor, let notice = effect.successorNotice { tell(notice, of: successor.id) }
    // A family shares what one of them pays.
    if !wasRevoked, life.state == .revoked {
      for member in families[life.id] ?? [] { _ = try? apply(.revoke, to: member) }
    }
    return try self.life(life.id)
  }

  /// Returns the life of a transaction, after everything that is due has happened.
  func life(_ transactionId: String) throws(ControlRefusal) -> Life {
    guard let id = owners[transactionId], lives[id] != nil else { throw .unknownLife }
    while passTime(of: id) {}
    guard let life = lives[id] else { throw .unknownLife }
    return life
  }

  /// Whether the simulator has a life with this transaction.
  func has(_ transactionId: String) -> Bool { owners[transactionId] != nil }

  /// The customer's lives: this one, those before it and those behind it, oldest first.
  func customer(of life: Life) -> [Life] {
    var all = [life]
    while let id = all.first?.previousId, let previous = try? self.life(id) { all.insert(previous, at: 0) }
    while let id = all.last?.successorId, let successor = try? self.life(id) { all.append(successor) }
    return all
  }

  /// Returns the date of a signature that is made now, and remembers it.
  func signingDate(of id: String) -> Int64 {
    let time = now()
    return lives[id]?.signingDate(at: time) ?? time
  }

  /// Notes what the developer's server tells about a refund request.
  func consume(_ transactionId: String, _ answer: LifeRefundRequest.Answer) {
    guard let id = owners[transactionId] else { return }
    lives[id]?.consume(transactionId, answer)
  }

  /// Returns some lives in the order in which they began.
  ///
  /// - Parameter after: the last life of the page before.
  func page(after: String?, limit: Int) throws(ControlRefusal) -> (lives: [Life], next: String?) {
    var start = 0
    if let after {
      guard let place = places[after] else { throw .unknownLife }
      start = place + 1
    }
    let ids = order[min(start, order.count)...].prefix(limit)
    var page: [Life] = []
    for id in ids { page.append(try life(id)) }
    return (page, ids.endIndex < order.count ? ids.last : nil)
  }

  /// Stops the time.
  func close() {
    isClosed = true
    timer?.close()
    timer = nil
  }

  // MARK: Time

  private func take(_ life: Life) {
    places[life.id] = order.count
    order.append(life.id)
    if let owner = life.terms.owner { families[owner, default: []].append(life.id) }
    put(life)
  }

  private func put(_ life: Life) {
    lives[life.id] = life
    owners[life.latest.id] = life.id
    plan(life)
  }

  private func tell(_ notice: LifeNotice, of id: String) {
    let date = signingDate(of: id)
    if let life = lives[id] { onChange(Change(life: life, notice: notice, date: date)) }
  }

  /// Lets the next thing happen to a life that is due.
  private func passTime(of id: String) -> Bool {
    guard !isHeld, let due = lives[id]?.due, due <= now() else { return false }
    guard let notice = lives[id]?.passTime(to: now(), &numbers) else { return false }
    if let life = lives[id] { put(life) }
    tell(notice, of: id)
    return true
  }

  private func plan(_ life: Life) {
    guard let due = life.due else { return }
    let isEarliest = agenda.next.map { due < $0 } ?? true
    agenda.add(life.id, at: due)
    if isEarliest { startTimer() }
  }

  private func startTimer() {
    guard !isClosed, !isHeld, let next = agenda.next else { return }
    if timer == nil { timer = LoopTimer { [weak self] in self?.run() } }
    // The loop's clock and the system's may differ; a wrong guess only makes another turn.
    timer?.start(after: .milliseconds(min(max(1, next - now()), 60_000)))
  }

  private func run() {
    guard !isHeld else { return }
    var changes = 0
    // An entry of a time that no longer holds makes nothing happen: the life has another entry for its new time.
    while changes < Self.turn, let entry = agenda.take(at: now()) {
      while changes < Self.turn, passTime(of: entry.item) { changes += 1 }
      if let due = lives[entry.item]?.due, due <= now() { agenda.add(entry.item, at: due) }
    }
    startTimer()
  }
}
