import Domain
import Formats

/// Decides by value which publishers a role uses after a reading of their files.
///
/// A good file counts. A file with a mistake does not, and neither does one that contradicts another: then a publisher
/// in use stays as it was, and any other is absent. So no file changes what another publisher has in use.
///
/// Two files may contradict each other in two ways:
///
/// - Both name the same publisher. The file that is in use counts, or else the one whose name is the publisher's id.
/// - Two publishers have the same credential. It stays with the publisher that had it. At a start nobody can tell whose
///   it is, so neither file counts.
struct PublisherChoice {
  private struct Candidate {
    let file: PublisherFolder.File
    let publisher: Publisher
  }

  private let folder: PublisherFolder
  private let old: Publishers
  private let oldIds: [ExactText: PublisherId]
  private var accepted: [PublisherId: Candidate] = [:]
  private var kept: [PublisherId: Publisher] = [:]
  private var broken: [BrokenPublisher] = []
  private var mistakes: [Mistake] = []
  private var told: Set<String> = []

  init(_ folder: PublisherFolder, after old: Publishers) {
    (self.folder, self.old) = (folder, old)
    oldIds = Dictionary(
      old.all.compactMap { publisher in old.file(of: publisher.id).map { (ExactText($0), publisher.id) } }
    ) {
      first, _ in first
    }
    var candidates: [PublisherId: [Candidate]] = [:]
    for file in folder.files {
      switch file.content {
      case .publisher(let publisher):
        candidates[publisher.id, default: []].append(Candidate(file: file, publisher: publisher))
      case .broken(let publisher, let mistakes):
        broken.append(publisher)
        for mistake in mistakes { note(mistake) }
      }
    }
    for (id, all) in candidates.sorted(by: { $0.key < $1.key }) { accept(all, id) }
    for publisher in broken {
      keep(oldIds[publisher.file])
      keep(id(of: publisher))
    }
    settleClashes()
  }

  private mutating func accept(_ candidates: [Candidate], _ id: PublisherId) {
    guard candidates.count > 1 else {
      accepted[id] = candidates[0]
      return
    }
    let names = candidates.map(\.file.name)
    let holder = names.first { old.file(of: id).isExactly($0) } ?? names.first { Self.id(ofFile: $0) == id }
    let mistake = Mistake(
      source: folder.path, key: "publisherId",
      problem: "\(id) is in more than one file: \(names.joined(separator: ", "))")
    note(mistake)
    for candidate in candidates {
      if holder.isExactly(candidate.file.name) {
        accepted[id] = candidate
      } else {
        // Its name may tell whose it should be.
        refuse(candidate, as: Self.id(ofFile: candidate.file.name) ?? id, [mistake])
      }
    }
  }

  private mutating func refuse(_ candidate: Candidate, as id: PublisherId, _ mistakes: [Mistake]) {
    broken.append(
      BrokenPublisher(
        file: candidate.file.name, id: id, mistakes: mistakes.map(\.description), remains: candidate.publisher,
        bundleIds: candidate.publisher.apps.map(\.bundleId), hidesCallers: false))
  }

  /// Keeps a publisher as it is in use, unless a good file has it.
  private mutating func keep(_ id: PublisherId?) {
    guard let id, accepted[id] == nil, let publisher = old[id] else { return }
    kept[id] = publisher
  }

  /// Takes back the new files of publishers that have a credential of another. What they have in use may be another's
  /// new credential, so this goes on until nobody has. Each round takes back a file: those in use never clash.
  private mutating func settleClashes() {
    while true {
      let all = accepted.values.map(\.publisher) + kept.values
      let clashes = folder.credentials.flatMap { $0.clashes(of: all, before: { old[$0] }) }
      guard !clashes.isEmpty else { return }
      // Where the owner is known, the others are to blame, perhaps for further clashes.
      let decided = clashes.filter { $0.owner != nil }
      var blamed: [PublisherId: [Mistake]] = [:]
      for clash in decided.isEmpty ? clashes : decided {
        let mistake = clash.mistake(in: folder.path)
        note(mistake)
        for id in clash.publishers where id != clash.owner { blamed[id, default: []].append(mistake) }
      }
      for (id, mistakes) in blamed {
        guard let candidate = accepted.removeValue(forKey: id) else { continue }
        refuse(candidate, as: id, mistakes)
        keep(id)
      }
    }
  }

  func reading(now: Int64) -> PublisherReading {
    let known = Dictionary(old.broken.filter { !$0.isKept }.map { (ExactText($0.file), $0.since) }) { first, _ in first
    }
    var files = accepted.mapValues(\.file.name)
    for id in kept.keys { files[id] = old.file(of: id) }
    let publishers = Publishers(
      accepted.values.map(\.publisher) + kept.values, files: files,
      broken: broken.map { each in
        let id = id(of: each)
        return BrokenPublisher(
          file: each.file, id: id, mistakes: each.mistakes, remains: each.remains, bundleIds: each.bundleIds,
          hidesCallers: each.hidesCallers, isKept: id.map { kept[$0] != nil } ?? false, since: known[each.file] ?? now)
      })
    return PublisherReading(publishers: publishers, mistakes: mistakes)
  }

  /// The id of a broken publisher: from its file, or as the file was in use, or from its name if that is nobody else's.
  private func id(of broken: BrokenPublisher) -> PublisherId? {
    broken.id ?? oldIds[broken.file] ?? Self.id(ofFile: broken.file).flatMap { accepted[$0] == nil ? $0 : nil }
  }

  private mutating func note(_ mistake: Mistake) {
    if told.insert(mistake.description).inserted { mistakes.append(mistake) }
  }

  /// The id that a file's name tells, for example that of `1004.json`.
  static func id(ofFile name: String) -> PublisherId? {
    let stem = name.hasSuffix(".json") ? name.dropLast(5) : name[...]
    guard let id = PublisherId(stem), String(id) == stem, id > 0 else { return nil }
    return id
  }
}
