/// A dictionary of limited size. When it is full, it forgets the entry that nobody has used for the longest time.
struct RecentlyUsed<Key: Hashable, Value> {
  private struct Entry {
    var key: Key
    var value: Value
    var newer: Int?
    var older: Int?
  }

  private let capacity: Int
  private var entries: [Entry] = []
  private var places: [Key: Int] = [:]
  private var newest: Int?
  private var oldest: Int?

  init(capacity: Int) {
    precondition(capacity > 0, "Something that holds nothing remembers nothing.")
    self.capacity = capacity
  }

  var count: Int { entries.count }

  /// Reading and writing both count as use.
  subscript(_ key: Key) -> Value? {
    mutating get {
      guard let place = places[key] else { return nil }
      use(place)
      return entries[place].value
    }
  }

  mutating func set(_ value: Value, for key: Key) {
    if let place = places[key] {
      entries[place].value = value
      use(place)
      return
    }
    let place: Int
    if entries.count < capacity {
      place = entries.count
      entries.append(Entry(key: key, value: value))
    } else {
      place = oldest!
      unlink(place)
      places[entries[place].key] = nil
      entries[place] = Entry(key: key, value: value)
    }
    places[key] = place
    link(place)
  }

  private mutating func use(_ place: Int) {
    guard newest != place else { return }
    unlink(place)
    link(place)
  }

  private mutating func link(_ place: Int) {
    entries[place].newer = nil
    entries[place].older = newest
    if let newest { entries[newest].newer = place }
    newest = place
    if oldest == nil { oldest = place }
  }

  private mutating func unlink(_ place: Int) {
    let (newer, older) = (entries[place].newer, entries[place].older)
    if let newer { entries[newer].older = older } else { newest = older }
    if let older { entries[older].newer = newer } else { oldest = newer }
  }
}
